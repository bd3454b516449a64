//! What both programs need of the operating system and must do alike: stop requests and the standard streams. The floor
//! below `flow` and `flownet`; it knows neither of them.

pub mod relay;
pub mod stop;
