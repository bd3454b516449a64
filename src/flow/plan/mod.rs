//! From bound statements to kintone queries and local operators; push-down (LNG-190..194).
