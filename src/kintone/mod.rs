//! The kintone REST client: every request of both programs goes through one function (D-03, D-04, D-07).
