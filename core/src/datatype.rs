//! Datatypes of attributes and dimensions, which are one byte in files, and the ten physical types that store them.

use crate::error::Malformed;

macro_rules! datatypes {
    ($($variant:ident = $id:literal, $name:literal, $physical:ident;)*) => {
        /// A datatype of the format, with its number in files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the variants are the format's own names")]
        pub enum Datatype { $($variant = $id),* }

        impl Datatype {
            /// All datatypes, by number.
            pub const ALL: &'static [Datatype] = &[$(Datatype::$variant),*];

            /// The datatype with this number.
            ///
            /// # Errors
            /// The format has no datatype with this number.
            pub fn from_id(id: u8) -> Result<Self, Malformed> {
                match id {
                    $($id => Ok(Self::$variant),)*
                    _ => Err(Malformed::new("datatype", 0, format!("{id} is not a datatype number"))),
                }
            }

            /// The name used in JSON, on the command line and in the browser.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The physical type of its values.
            pub const fn physical(self) -> Physical {
                match self { $(Self::$variant => Physical::$physical),* }
            }
        }
    };
}

datatypes! {
    Int32 = 0, "int32", I32;
    Int64 = 1, "int64", I64;
    Float32 = 2, "float32", F32;
    Float64 = 3, "float64", F64;
    Char = 4, "char", I8;
    Int8 = 5, "int8", I8;
    Uint8 = 6, "uint8", U8;
    Int16 = 7, "int16", I16;
    Uint16 = 8, "uint16", U16;
    Uint32 = 9, "uint32", U32;
    Uint64 = 10, "uint64", U64;
    StringAscii = 11, "string_ascii", U8;
    StringUtf8 = 12, "string_utf8", U8;
    StringUtf16 = 13, "string_utf16", U16;
    StringUtf32 = 14, "string_utf32", U32;
    StringUcs2 = 15, "string_ucs2", U16;
    StringUcs4 = 16, "string_ucs4", U32;
    Any = 17, "any", U8;
    DatetimeYear = 18, "datetime_year", I64;
    DatetimeMonth = 19, "datetime_month", I64;
    DatetimeWeek = 20, "datetime_week", I64;
    DatetimeDay = 21, "datetime_day", I64;
    DatetimeHr = 22, "datetime_hr", I64;
    DatetimeMin = 23, "datetime_min", I64;
    DatetimeSec = 24, "datetime_sec", I64;
    DatetimeMs = 25, "datetime_ms", I64;
    DatetimeUs = 26, "datetime_us", I64;
    DatetimeNs = 27, "datetime_ns", I64;
    DatetimePs = 28, "datetime_ps", I64;
    DatetimeFs = 29, "datetime_fs", I64;
    DatetimeAs = 30, "datetime_as", I64;
    TimeHr = 31, "time_hr", I64;
    TimeMin = 32, "time_min", I64;
    TimeSec = 33, "time_sec", I64;
    TimeMs = 34, "time_ms", I64;
    TimeUs = 35, "time_us", I64;
    TimeNs = 36, "time_ns", I64;
    TimePs = 37, "time_ps", I64;
    TimeFs = 38, "time_fs", I64;
    TimeAs = 39, "time_as", I64;
    Blob = 40, "blob", U8;
    Bool = 41, "bool", U8;
    GeomWkb = 42, "geom_wkb", U8;
    GeomWkt = 43, "geom_wkt", U8;
}

impl Datatype {
    /// The number in files.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Size of a value in bytes.
    pub const fn size(self) -> usize {
        self.physical().size()
    }

    /// The datatype with this name.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] lists the valid names.
    pub fn from_name(name: &str) -> crate::Result<Self> {
        let found = Self::ALL.iter().copied().find(|t| t.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|t| t.name()).collect();
            crate::Error::invalid(format!(
                "there is no datatype '{name}'; the datatypes are {}",
                known.join(", ")
            ))
        })
    }

    /// One of the six string types or `char`.
    pub const fn is_string(self) -> bool {
        matches!(
            self,
            Self::Char
                | Self::StringAscii
                | Self::StringUtf8
                | Self::StringUtf16
                | Self::StringUtf32
                | Self::StringUcs2
                | Self::StringUcs4
        )
    }

    /// A date, or a date and time, counted from 1970 in any unit.
    pub const fn is_datetime(self) -> bool {
        self.id() >= Self::DatetimeYear.id() && self.id() <= Self::DatetimeAs.id()
    }

    /// A time without a date, in any unit.
    pub const fn is_time(self) -> bool {
        self.id() >= Self::TimeHr.id() && self.id() <= Self::TimeAs.id()
    }

    /// The unit of a date or a time, as the CF conventions name it; `None` for units that they lack, such as months.
    ///
    /// ```
    /// use hyperslab::Datatype;
    /// assert_eq!(Datatype::DatetimeMs.time_unit(), Some("milliseconds"));
    /// ```
    pub const fn time_unit(self) -> Option<&'static str> {
        Some(match self {
            Self::DatetimeDay => "days",
            Self::DatetimeHr | Self::TimeHr => "hours",
            Self::DatetimeMin | Self::TimeMin => "minutes",
            Self::DatetimeSec | Self::TimeSec => "seconds",
            Self::DatetimeMs | Self::TimeMs => "milliseconds",
            Self::DatetimeUs | Self::TimeUs => "microseconds",
            Self::DatetimeNs | Self::TimeNs => "nanoseconds",
            _ => return None,
        })
    }

    /// A date or a time, in any unit. The smallest value means "missing", which numpy calls NaT.
    pub const fn is_temporal(self) -> bool {
        self.is_datetime() || self.is_time()
    }

    /// Opaque bytes: `any`, `blob` and the two geometry types.
    pub const fn is_opaque(self) -> bool {
        matches!(self, Self::Any | Self::Blob | Self::GeomWkb | Self::GeomWkt)
    }

    /// A string type or opaque bytes. Cells are single values of any length, not numbers.
    pub const fn is_bytes(self) -> bool {
        self.is_string() || self.is_opaque()
    }

    /// The values per cell of an attribute that does not state them: any number for strings and bytes, otherwise one.
    pub const fn default_cell(self) -> CellCount {
        if self.is_bytes() {
            CellCount::Var
        } else {
            CellCount::ONE
        }
    }

    /// A plain signed or unsigned integer.
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Int8
                | Self::Int16
                | Self::Int32
                | Self::Int64
                | Self::Uint8
                | Self::Uint16
                | Self::Uint32
                | Self::Uint64
        )
    }

    /// `float32` or `float64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// The default fill value, in little-endian byte order.
    ///
    /// As specified by the format: the smallest value of signed types, the largest of unsigned types, a quiet NaN for
    /// floats, and 0 for strings, bytes and bool.
    pub fn default_fill(self) -> Vec<u8> {
        if matches!(self, Self::Bool) || self.is_opaque() || (self.is_string() && self != Self::Char) {
            return vec![0; self.size()];
        }
        match self.physical() {
            Physical::I8 => vec![0x80],
            Physical::U8 => vec![0xff],
            Physical::I16 => i16::MIN.to_le_bytes().to_vec(),
            Physical::U16 => u16::MAX.to_le_bytes().to_vec(),
            Physical::I32 => i32::MIN.to_le_bytes().to_vec(),
            Physical::U32 => u32::MAX.to_le_bytes().to_vec(),
            Physical::I64 => i64::MIN.to_le_bytes().to_vec(),
            Physical::U64 => u64::MAX.to_le_bytes().to_vec(),
            Physical::F32 => 0x7fc0_0000_u32.to_le_bytes().to_vec(),
            Physical::F64 => 0x7ff8_0000_0000_0000_u64.to_le_bytes().to_vec(),
        }
    }
}

impl std::fmt::Display for Datatype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The physical type that stores a datatype. Code is generic over physical types, not over datatypes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are Rust's own type names")]
pub enum Physical {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Physical {
    /// Size of a value in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
}

/// Evaluates an expression with `$T` bound to the Rust type of a [`Physical`].
///
/// ```
/// use hyperslab::{with_type, Datatype};
/// let size = with_type!(Datatype::DatetimeMs.physical(), T => size_of::<T>());
/// assert_eq!(size, 8);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! with_type {
    ($physical:expr, $T:ident => $body:expr) => {
        match $physical {
            $crate::Physical::I8 => {
                type $T = i8;
                $body
            }
            $crate::Physical::I16 => {
                type $T = i16;
                $body
            }
            $crate::Physical::I32 => {
                type $T = i32;
                $body
            }
            $crate::Physical::I64 => {
                type $T = i64;
                $body
            }
            $crate::Physical::U8 => {
                type $T = u8;
                $body
            }
            $crate::Physical::U16 => {
                type $T = u16;
                $body
            }
            $crate::Physical::U32 => {
                type $T = u32;
                $body
            }
            $crate::Physical::U64 => {
                type $T = u64;
                $body
            }
            $crate::Physical::F32 => {
                type $T = f32;
                $body
            }
            $crate::Physical::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}

/// The number of values in each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellCount {
    /// A fixed number, at least 1.
    Fixed(u32),
    /// A variable number, with an offset for each cell.
    Var,
}

/// Formats the count for messages: "one value", "3 values", "any number of values".
impl std::fmt::Display for CellCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(1) => f.write_str("one value"),
            Self::Fixed(n) => write!(f, "{n} values"),
            Self::Var => f.write_str("any number of values"),
        }
    }
}

impl CellCount {
    /// One value per cell.
    pub const ONE: Self = Self::Fixed(1);
    /// The number that means "variable" in files.
    pub const VAR_ON_DISK: u32 = u32::MAX;

    /// Whether cells have variable length.
    pub const fn is_var(self) -> bool {
        matches!(self, Self::Var)
    }

    /// Size of a cell of `datatype` in bytes; `None` if cells have variable length. Damaged files may
    /// have larger cells than memory can hold, whose size is `isize::MAX`.
    pub const fn cell_bytes(self, datatype: Datatype) -> Option<usize> {
        match self {
            Self::Fixed(n) => {
                let bytes = (n as usize).saturating_mul(datatype.size());
                let most = isize::MAX.unsigned_abs();
                Some(if bytes < most { bytes } else { most })
            }
            Self::Var => None,
        }
    }
}
