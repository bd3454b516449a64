//! The aggregate functions by name (LNG-100).

/// An aggregate function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `COUNT(*)`
    CountRows,
    /// `COUNT(x)`
    Count,
    /// `SUM(x)`
    Sum,
    /// `AVG(x)`
    Avg,
    /// `MIN(x)`
    Min,
    /// `MAX(x)`
    Max,
    /// `GROUP_CONCAT(x)`
    GroupConcat,
    /// `VAR_POP(x)`
    VarPop,
    /// `VAR_SAMP(x)`
    VarSamp,
    /// `STDDEV_POP(x)`
    StddevPop,
    /// `STDDEV_SAMP(x)`
    StddevSamp,
    /// `MEDIAN(x)`
    Median,
    /// `MODE(x)`
    Mode,
}

impl Kind {
    /// Finds the function of a name, any case; `COUNT` is [`Kind::Count`], `COUNT(*)` is the parser's to see.
    pub fn parse(name: &str) -> Option<Self> {
        const KINDS: [Kind; 12] = [
            Kind::Count,
            Kind::Sum,
            Kind::Avg,
            Kind::Min,
            Kind::Max,
            Kind::GroupConcat,
            Kind::VarPop,
            Kind::VarSamp,
            Kind::StddevPop,
            Kind::StddevSamp,
            Kind::Median,
            Kind::Mode,
        ];
        KINDS
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::CountRows | Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Avg => "AVG",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::GroupConcat => "GROUP_CONCAT",
            Self::VarPop => "VAR_POP",
            Self::VarSamp => "VAR_SAMP",
            Self::StddevPop => "STDDEV_POP",
            Self::StddevSamp => "STDDEV_SAMP",
            Self::Median => "MEDIAN",
            Self::Mode => "MODE",
        }
    }

    /// Variance, deviation and median: DISTINCT by number, anything but finite numbers is an error (LNG-106).
    pub fn is_statistic(self) -> bool {
        matches!(
            self,
            Self::VarPop | Self::VarSamp | Self::StddevPop | Self::StddevSamp | Self::Median
        )
    }

    /// False for `COUNT(*)` and MODE, which take no DISTINCT (LNG-106).
    pub fn takes_distinct(self) -> bool {
        !matches!(self, Self::CountRows | Self::Mode)
    }

    /// True for the functions that may stand before OVER (LNG-120).
    pub fn is_window_function(self) -> bool {
        matches!(
            self,
            Self::CountRows | Self::Count | Self::Sum | Self::Avg | Self::Min | Self::Max
        )
    }
}
