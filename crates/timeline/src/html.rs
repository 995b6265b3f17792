//! stub
/// stub
pub fn page(_timeline: &crate::model::Timeline) -> String {
    String::new()
}
