//! HTTP/1.1 on plain sockets: [`request`] reads, [`response`] writes, [`connection`] keeps a connection alive.
//!
//! Why not a server crate: the stand-in must do what a server never should - close a connection instead of answering, cut
//! an answer in the middle, park a request and notice that its client is gone. That needs the raw stream. The head is
//! parsed by `httparse`, which the client side brings along anyway.
pub mod connection;
pub mod multipart;
pub mod request;
pub mod response;
