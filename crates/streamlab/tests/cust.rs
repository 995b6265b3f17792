//! A program that is written with `cust` moves over piece by piece: its device buffers are kernel arguments and ends of copies.

mod support;

use cust::memory::{CopyDestination, DeviceBuffer as CustBuffer};
use gpu::streams::{sweep_add, sweep_scale};
use streamlab::{DeviceBuffer, Error, LaunchConfig, PinnedBuffer, Stream, StreamKind};
use support::{H200, on_device};

const ONE_BLOCK: LaunchConfig = LaunchConfig::new(1, 64);

#[test]
fn a_cust_buffer_is_an_argument_and_an_end_of_every_copy() {
    on_device(H200, |context| {
        let stream = Stream::new(context, "s", StreamKind::Blocking).unwrap();
        let theirs = CustBuffer::from_slice(&[1.0_f32; 64]).unwrap();
        let ours = DeviceBuffer::<f32>::zeroed(context, "ours", 64).unwrap();
        let host = PinnedBuffer::<f32>::new(context, "host", 64).unwrap();
        stream.launch(ONE_BLOCK, sweep_scale(&theirs, &ours)).unwrap();
        stream.copy(&ours, &theirs).unwrap();
        stream.launch(ONE_BLOCK, sweep_add(&theirs, &ours)).unwrap();
        stream.copy_to_host(&ours, &host).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(host.read(), [3.0; 64]);
        stream.copy_to_device(&host, &theirs).unwrap();
        stream.synchronize().unwrap();
        let mut read = [0.0; 64];
        theirs.copy_to(&mut read).unwrap();
        assert_eq!(read, [3.0; 64]);
        assert_eq!(ours.as_device_ptr().as_raw() % 256, 0);
    });
}

#[test]
fn a_missing_edge_through_a_cust_buffer_is_found_and_disjoint_ones_are_apart() {
    on_device(H200, |context| {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking).unwrap();
        let (a, b) = (stream("a"), stream("b"));
        let theirs = [0, 1].map(|_| CustBuffer::from_slice(&[1.0_f32; 64]).unwrap());
        let out = DeviceBuffer::<f32>::zeroed(context, "out", 64).unwrap();
        let ones = DeviceBuffer::from_slice(context, "ones", &[1.0_f32; 64]).unwrap();
        let missing = |read: &CustBuffer<f32>| {
            let log = streamlab::check(context, || {
                a.launch(ONE_BLOCK, sweep_add(&ones, &theirs[0]))?;
                b.launch(ONE_BLOCK, sweep_add(read, &out))
            });
            context.synchronize().unwrap();
            log.unwrap().missing_edges().len()
        };
        assert_eq!([missing(&theirs[0]), missing(&theirs[1])], [1, 0]);
        // The same buffer for what a kernel writes and reads is refused, as for ours.
        let overlap = a.launch(ONE_BLOCK, sweep_add(&theirs[0], &theirs[0]));
        assert!(matches!(overlap, Err(Error::Overlap { .. })), "{overlap:?}");
        let captured = a.capture(|| a.launch(ONE_BLOCK, sweep_add(&theirs[0], &out)));
        assert!(matches!(captured, Err(Error::ForeignInCapture { .. })), "{captured:?}");
    });
}

#[test]
fn a_cust_buffer_that_is_dropped_is_freed_after_the_work_that_uses_it() {
    on_device(H200, |context| {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
        let ones = DeviceBuffer::from_slice(context, "ones", &[1.0_f32; 64]).unwrap();
        let spun = DeviceBuffer::<u32>::new(context, "spun", 64).unwrap();
        let theirs = CustBuffer::from_slice(&[0.0_f32; 64]).unwrap();
        stream.launch(ONE_BLOCK, gpu::streams::spin_lcg(&spun, 100_000)).unwrap();
        stream.launch(ONE_BLOCK, sweep_add(&ones, &theirs)).unwrap();
        assert!(!stream.query().unwrap());
        drop(theirs);
        assert!(stream.query().unwrap(), "freeing waited for the work");
    });
}
