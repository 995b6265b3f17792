//! A module, decoded: plain data.

use std::collections::HashMap;

use super::action::Action;
use super::op::Kind;

/// What one text of PTX defines.
#[derive(Debug)]
pub struct Module {
    /// `.version`, as (major, minor).
    pub version: (u32, u32),
    /// The number in `.target sm_NN`.
    pub target: u32,
    /// Variables of the module, and shared ones of its functions.
    pub variables: Vec<Variable>,
    /// Kernels and functions that have a body.
    pub functions: Vec<Function>,
    /// What each name means.
    pub names: HashMap<String, Target>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A variable, by its place in [`Module::variables`].
    Variable(u32),
    /// A function, by its place in [`Module::functions`].
    Function(u32),
}

/// Where a variable lies and an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// An address decides: global, or one of the windows.
    Generic,
    /// Device memory.
    Global,
    /// Device memory that is only read.
    Constant,
    /// The block's own memory.
    Shared,
    /// The thread's own memory.
    Local,
    /// Parameters: the kernel's, or a call's.
    Parameter,
}

/// A variable of the module, or a local one of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// Bytes; 0 for a shared array whose size the launch decides.
    pub bytes: u64,
    /// Its address is a multiple of this.
    pub align: u64,
    /// What it begins with; the rest is zero.
    pub init: Vec<u8>,
    /// Addresses in it that are known when the module is loaded.
    pub relocations: Vec<Relocation>,
    /// The line that declares it.
    pub line: u32,
}

/// An address inside a variable's first value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where it stands, bytes from the start; it has 8 bytes.
    pub offset: u64,
    /// Whose address.
    pub target: Target,
    /// What is added to it.
    pub addend: u64,
}

/// A parameter, or a returned value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub bytes: u32,
    /// Its offset is a multiple of this.
    pub align: u32,
}

/// A kernel or a function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel.
    pub entry: bool,
    /// Whether it never returns.
    pub no_return: bool,
    /// What it returns.
    pub returns: Vec<Parameter>,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// Threads a block may have (`.maxntid`, `.reqntid`), if it says so.
    pub max_threads: Option<u32>,
    /// Its instructions.
    pub body: Body,
    /// The line it begins at.
    pub line: u32,
}

/// A function's instructions.
#[derive(Debug, Default)]
pub struct Body {
    /// The kind of each register, by its number.
    pub registers: Vec<Kind>,
    /// Local variables; [`Base::Local`] counts in these.
    pub locals: Vec<Variable>,
    /// The instructions in the text's order. A jump is to a place in it.
    pub code: Vec<Instruction>,
}

/// A register of one function, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The lanes it is executed for, if not all.
    pub guard: Option<Guard>,
    /// What it does.
    pub action: Action,
    /// The line it stands at.
    pub line: u32,
}

/// A predicate in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub register: Reg,
    /// Whether it must not hold.
    pub negated: bool,
}

/// A value that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A register's.
    Reg(Reg),
    /// A constant, in the bits of the register it stands for.
    Bits(u64),
}

/// An address that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What is counted from.
    pub base: Base,
    /// Bytes added.
    pub offset: i64,
}

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Zero.
    Zero,
    /// A register's value.
    Reg(Reg),
    /// A variable of the module, or a function.
    Module(Target),
    /// A local variable of the function.
    Local(u32),
    /// A parameter of the function itself.
    Parameter(u32),
    /// A value that the function itself returns.
    Return(u32),
    /// An argument of the call that is being prepared, by its place among the variables declared for calls.
    Argument(u32),
}
