//! Launches that a device does not take.

use gpu::streams::sweep_scale;
use streamlab::{Error, LaunchConfig};

use crate::rig::{On, with_device};

pub fn beyond_a_limit(on: On) {
    with_device(on, |rig| {
        let stream = rig.stream("s")?;
        let good = LaunchConfig::new(1, 32);
        let shared = |kib: u32| LaunchConfig { shared_bytes: kib << 10, ..good };
        for (bad, says) in [
            (LaunchConfig::new(1, 1025), ["1025 threads in a block along x", "1024"]),
            (LaunchConfig { block: (33, 32, 1), ..good }, ["1056 threads in a block", "1024"]),
            (LaunchConfig { block: (1, 1, 65), ..good }, ["65 threads in a block along z", "64"]),
            (LaunchConfig { grid: (1, 65_536, 1), ..good }, ["65536 blocks in the grid along y", "65535"]),
            (LaunchConfig { grid: (1, 1, 65_536), ..good }, ["65536 blocks in the grid along z", "65535"]),
            (LaunchConfig::new(0, 32), ["0 blocks in the grid along x", "least is 1"]),
            (LaunchConfig::new(1, 0), ["0 threads in a block along x", "least is 1"]),
            (shared(50), ["51200 bytes of dynamic shared memory", "49152 until more is asked for"]),
            (shared(300), ["307200 bytes of dynamic shared memory", "49152; the device has "]),
        ] {
            rig.out.memset_zeros()?;
            let call = sweep_scale(&rig.ones, &rig.out);
            let (Err(Error::Driver(error)), line) = (stream.launch(bad, call), line!()) else {
                panic!("{bad} was taken")
            };
            assert_eq!((error.code, error.call), (1, "cuLaunchKernel"), "{error}");
            assert!(says.iter().all(|says| error.detail.contains(says)), "{error}");
            // Only the limit that was exceeded is named.
            assert!(error.detail.starts_with(says[0]) && !error.detail.contains(". "), "{error}");
            assert_eq!((error.at.file(), error.at.line()), (file!(), line), "{error}");
            // Nothing of it ran, and the next one does.
            assert_eq!(rig.outcome()?, 0.0);
            rig.quick(&stream, &rig.ones, &rig.out)?;
            assert_eq!(rig.outcome()?, 2.0);
        }
        Ok(())
    });
}
