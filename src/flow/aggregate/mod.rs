//! Aggregate functions (LNG-100..107).
