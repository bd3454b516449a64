//! The kintone client against scripted servers: what goes onto the wire, what is repeated, what a failure proves.

mod file;
mod outcome;
mod page;
mod proxy;
mod repeat;
mod server;
mod tls;
mod wire;
