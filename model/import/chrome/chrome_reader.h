// SPDX-License-Identifier: Apache-2.0
// Walks a Chrome trace file, whole or broken: header values and events in the file's order. After broken text it
// goes on at the next thing that looks like an event, and counts what it left out.
#pragma once

#include "model/base/result.h"
#include "model/import/chrome/chrome_event.h"
#include "model/import/common/text_window.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

namespace fourwalls::importers {

/// Who is told. All text is valid only during the call.
class ChromeVisitor {
public:
    virtual ~ChromeVisitor() = default;
    /// Whether header(key, …) wants this key's value; others are passed over, however large.
    virtual bool wantsHeader(std::string_view key) = 0;
    virtual void header(std::string_view key, const JsonToken& value) = 0;
    virtual void event(const ChromeEvent& event) = 0;
    /// Called now and then, and at the end.
    virtual void progress(std::int64_t fileBytesRead) { (void)fileBytesRead; }
};

/// What the walk met.
struct ChromeReadReport {
    bool foundEvents = false;        ///< there was an event array
    std::int64_t events = 0;         ///< complete events
    std::int64_t nonEvents = 0;      ///< entries of the array that are no objects
    std::int64_t recoveries = 0;     ///< broken places inside the file
    std::int64_t lostBytes = 0;      ///< text passed over to recover
    std::int64_t bytesLeft = 0;      ///< of an unfinished entry at the end
    std::int64_t firstBrokenAt = -1; ///< unpacked offset of the first broken place; -1: none
    bool closed = false;             ///< the event array was closed
    std::int64_t unpackedBytes = 0;
    std::int64_t bytesBehind = 0;    ///< that are no white space, behind the end of the trace
    std::int64_t unpackedBehind = 0; ///< behind the packed stream, see ByteSource
    std::string damage;              ///< of a packed stream that ended too early
    bool array = false;              ///< the file is the event array itself, which may lack its closing bracket
};

/// Errors: Io, Cancelled; a file that is not JSON at all (neither array nor object): Format.
Result<ChromeReadReport> readChromeTrace(TextWindow& window, ChromeVisitor& visitor, const std::string& where,
                                         std::stop_token stop = {});

} // namespace fourwalls::importers
