//! Launches that a card does not take.

use host::submit::{Error, Launch};

use crate::rig::{On, with_card};

pub fn beyond_a_limit(on: On) {
    with_card(on, |rig| {
        let stream = rig.stream("s")?;
        let good = Launch::new(1, 32);
        for (bad, says) in [
            (Launch::new(1, 1025), "1025 threads in a block along x, and the card takes 1024"),
            (Launch { block: (33, 32, 1), ..good }, "1056 threads in a block, and the card takes 1024"),
            (Launch { block: (1, 1, 65), ..good }, "65 threads in a block along z, and the card takes 64"),
            (
                Launch { grid: (1, 65_536, 1), ..good },
                "65536 blocks in the grid along y, and the card takes 65535",
            ),
            (
                Launch { grid: (1, 1, 65_536), ..good },
                "65536 blocks in the grid along z, and the card takes 65535",
            ),
            (Launch::new(0, 32), "0 blocks in the grid along x, and the least is 1"),
            (Launch::new(1, 0), "0 threads in a block along x, and the least is 1"),
            (
                Launch { shared_bytes: 50 << 10, ..good },
                "51200 bytes of dynamic shared memory, and this kernel may have 49152 until more is asked for",
            ),
            (
                Launch { shared_bytes: 300 << 10, ..good },
                "307200 bytes of dynamic shared memory, and this kernel may have 49152; the card has ",
            ),
        ] {
            rig.out.zero()?;
            let call = gpu::streams::sweep_scale(&rig.ones, &rig.out);
            let (Err(Error::Driver(error)), line) = (stream.launch(&bad, call), line!()) else {
                panic!("{bad} was taken")
            };
            assert_eq!((error.code, error.call), (1, "cuLaunchKernel"), "{error}");
            assert!(error.detail.starts_with(says) && !error.detail.contains(". "), "{error}");
            assert_eq!((error.at.file(), error.at.line()), (file!(), line), "{error}");
            // Nothing of it ran, and the next one does.
            assert_eq!(rig.outcome()?, 0.0);
            rig.quick(&stream, &rig.ones, &rig.out)?;
            assert_eq!(rig.outcome()?, 2.0);
        }
        Ok(())
    });
}
