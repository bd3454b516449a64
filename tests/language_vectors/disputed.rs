//! Vectors that are believed to be wrong, each with the reason.

const DISPUTED: [(&str, &str); 0] = [];

/// Why a vector is not expected to hold.
pub fn reason(id: &str) -> Option<&'static str> {
    DISPUTED
        .iter()
        .find(|(disputed, _)| *disputed == id)
        .map(|(_, reason)| *reason)
}
