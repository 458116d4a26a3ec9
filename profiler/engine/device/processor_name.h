// SPDX-License-Identifier: Apache-2.0
// What the operating system calls the processor that this runs on.
#pragma once

#include <istream>
#include <string>

namespace fourwalls::engine {

/// The processor's name, "CPU" where nothing is said about it. x86-64 processors know their name. ARM's say who made
/// the core and which one it is; names of the cores of servers are added here.
std::string processorName();

/// The same from a text in the form of /proc/cpuinfo.
/// Source of ARM's numbers: each core's Technical Reference Manual, register MIDR_EL1.
std::string processorNameIn(std::istream& cpuinfo);

} // namespace fourwalls::engine
