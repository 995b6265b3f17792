//! stub
/// stub
pub fn draw(timeline: &crate::model::Timeline, _columns: usize, _colour: bool) -> String {
    format!(
        "{:?}",
        timeline
            .bands
            .iter()
            .map(|b| (
                &b.name,
                b.slices.iter().map(|s| (s.stream, s.start_ns, s.end_ns, s.blocks.len())).collect::<Vec<_>>(),
                &b.edges,
                &b.ranges,
                &b.streams
            ))
            .collect::<Vec<_>>()
    )
}
