//! stub
/// stub
pub fn trace(_timeline: &crate::model::Timeline) -> String {
    String::new()
}
