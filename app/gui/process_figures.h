// SPDX-License-Identifier: GPL-3.0-or-later
// What this process has used: time since its start, processor time, memory.
#pragma once

namespace fourwalls::gui {

/// Since the kernel started the process [ms]; resolution 10 ms (clock ticks).
double millisecondsSinceProcessStart();
/// Processor time of all threads [ms].
double processorMilliseconds();
/// Resident set now and at its largest [10^6 bytes].
double residentMegabytes();
double peakResidentMegabytes();

} // namespace fourwalls::gui
