//! `kintone-sandbox`: an honest local stand-in for the kintone REST API, strict by the verified facts KTB-nn: it refuses
//! what the real service refuses, with its codes and statuses. For tests and CI without a tenant.
//!
//! Floors, top to bottom: [`cli`] and [`seed`]; [`server`] (sockets, signals); [`control`] (faults and log for tests);
//! [`service`] (one request); [`handler`] (the APIs); [`query`], [`record`], [`auth`]; [`store`]; [`app`], [`value`].
//! Nothing here is shared with `crate::kintone`, so that a mistake cannot be made twice in the same way.
//!
//! Left out, and refused instead of imitated badly: process management, comments, CALC fields, views, layouts, record and
//! field access rights, OAuth, plug-ins, spaces. `like` uses a simple word index without delay.
pub mod app;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod control;
pub mod error;
pub mod handler;
pub mod http;
pub mod ident;
pub mod query;
pub mod record;
pub mod route;
pub mod seed;
pub mod server;
pub mod service;
pub mod store;
pub mod value;
