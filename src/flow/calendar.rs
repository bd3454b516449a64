//! As-of functions and date literals in the profile's time zone (LNG-60, LNG-64).
