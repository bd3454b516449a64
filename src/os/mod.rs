//! What both programs need of the operating system and must do alike: stop requests, the standard
//! streams and the names of errors. The floor
//! below `flow` and `flownet`; it knows neither of them.

pub mod error_name;
pub mod relay;
pub mod stop;
