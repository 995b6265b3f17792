//! stub
/// stub
pub fn draw(_timeline: &crate::model::Timeline) -> String {
    String::new()
}
