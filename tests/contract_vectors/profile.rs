//! Cases of the vector file of the same name.
