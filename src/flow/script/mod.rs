//! Job files: header, statements, diagnostics (RNR-40, LNG-170).
