//! CSV in and out, UTF-8 and Shift_JIS (RNR-130..134).
