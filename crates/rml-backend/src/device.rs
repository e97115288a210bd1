//! Devices by name.

use std::fmt;

/// A device that a user can select.
///
/// ```
/// use rml_backend::Device;
/// assert_eq!(Device::read("cuda:1"), Some(Device::Cuda(1)));
/// assert!(Device::Cpu.is_host() && Device::read("cuda:01").is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    /// The processor, which uses the host's memory.
    Cpu,
    /// The GPU of this number, which has its own memory.
    Cuda(u16),
}

impl Device {
    /// The device called `name`: `cpu`, or `cuda:N` with N as it is printed.
    pub fn read(name: &str) -> Option<Self> {
        let number = |digits: &str| digits.parse().ok().map(Self::Cuda);
        let found = if name == "cpu" { Some(Self::Cpu) } else { name.strip_prefix("cuda:").and_then(number) };
        found.filter(|device| device.to_string() == name)
    }

    /// Whether the device's values are in the host's memory.
    pub fn is_host(self) -> bool {
        self == Self::Cpu
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}
