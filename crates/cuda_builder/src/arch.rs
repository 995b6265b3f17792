//! The name of a GPU architecture as rustc's `-Ctarget-cpu` spells it. Text only; touches nothing.

use std::fmt;

use crate::error::Error;

/// A GPU architecture, for example `sm_75`. Ordered by compute capability, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    capability: (u32, u32),
    name: String,
}

impl Arch {
    /// Reads `sm_` and two or more digits, with `a` or `f` behind them for the architecture-specific variants.
    ///
    /// # Errors
    /// [`Error::Arch`] for any other text. Whether the compiler knows the architecture is found out when it compiles.
    pub fn new(name: &str) -> Result<Self, Error> {
        let refused = || Error::Arch { name: name.to_owned() };
        let digits = name.strip_prefix("sm_").ok_or_else(refused)?;
        let digits = digits.strip_suffix(['a', 'f']).unwrap_or(digits);
        if digits.len() < 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        let number: u32 = digits.parse().map_err(|_| refused())?;
        Ok(Self { capability: (number / 10, number % 10), name: name.to_owned() })
    }

    /// The compute capability as (major, minor): (7, 5) for `sm_75`, (10, 0) for `sm_100`.
    pub fn capability(&self) -> (u32, u32) {
        self.capability
    }

    /// The name, as given.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_its_capability() {
        for (name, capability) in
            [("sm_75", (7, 5)), ("sm_90", (9, 0)), ("sm_90a", (9, 0)), ("sm_100f", (10, 0))]
        {
            assert_eq!(Arch::new(name).unwrap().capability(), capability, "{name}");
        }
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for name in
            ["", "75", "sm75", "sm_", "sm_7", "sm_7x", "compute_75", "sm_75b", "sm_+5", "sm_99999999999"]
        {
            let error = Arch::new(name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?}")), "{error}");
        }
    }

    #[test]
    fn older_sorts_first_whatever_the_number_of_digits() {
        let mut archs = ["sm_100", "sm_75", "sm_90"].map(|name| Arch::new(name).unwrap());
        archs.sort();
        assert_eq!(archs.map(|arch| arch.to_string()), ["sm_75", "sm_90", "sm_100"]);
    }
}
