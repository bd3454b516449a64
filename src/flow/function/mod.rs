//! Scalar functions (LNG-70..92).
