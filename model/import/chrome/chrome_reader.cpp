// SPDX-License-Identifier: Apache-2.0
// The walk: top level, event array, recovery. Every loop either moves on in the text or ends.
#include "model/import/chrome/chrome_reader.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

class Walk {
public:
    Walk(TextWindow& window, ChromeVisitor& visitor, std::stop_token stop)
        : m_window(window)
        , m_visitor(visitor)
        , m_stop(std::move(stop))
        , m_at(window.begin())
    {}

    /// False if the text is neither an array nor an object.
    bool run()
    {
        if (m_window.end() - m_at >= 3 && std::string_view(m_at, 3) == "\xef\xbb\xbf") m_at += 3;
        const char first = peek();
        if (first == '[') {
            ++m_at;
            m_report.foundEvents = m_report.array = true;
            events();
            if (m_report.closed) passRest();
        } else if (first == '{') {
            ++m_at;
            if (members()) passRest();
        } else {
            return false;
        }
        // What stands behind the trace is none of it, but a packed stream tells at its end whether it was whole.
        while (!m_stop.stop_requested() && m_window.more(m_window.end())) {
        }
        m_report.unpackedBytes = m_window.offsetOf(m_window.end());
        m_report.damage = m_window.damage();
        m_report.unpackedBehind = m_window.bytesBehind();
        m_visitor.progress(m_window.fileBytesRead());
        return true;
    }

    ChromeReadReport& report() { return m_report; }

private:
    /// The next character that is not white space; 0 at the end.
    char peek()
    {
        for (;;) {
            m_at = skipSpace(m_at, m_window.end());
            if (m_at < m_window.end()) return *m_at;
            if (!more(m_at)) return '\0';
        }
    }

    /// More text behind keep, which becomes m_at. False at the end of the file.
    bool more(const char* keep)
    {
        m_visitor.progress(m_window.fileBytesRead());
        const bool got = !m_stop.stop_requested() && m_window.more(keep);
        m_at = got ? m_window.begin() : keep;
        return got;
    }

    /// Runs scan(at) on ever more text until it does not ask for more; `at` begins at m_at, which is then behind
    /// what was scanned. NeedMore: the file ended. Broken also for what is longer than m_longest.
    template <class ScanAt>
    Scan scanWhole(ScanAt&& scan)
    {
        for (;;) {
            const char* at = m_at;
            const bool toEnd = static_cast<std::size_t>(m_window.end() - m_at) <= m_longest;
            const Scan result = scan(at, toEnd ? m_window.end() : m_at + m_longest);
            if (result != Scan::NeedMore) {
                if (result == Scan::Ok) m_at = at;
                return result;
            }
            if (toEnd && more(m_at)) continue;
            if (toEnd && !m_window.tooLarge()) return Scan::NeedMore;
            trustLess();
            return Scan::Broken;
        }
    }

    /// A bracket that is never closed swallows everything behind it. In a file with many of them, each would cost a walk
    /// to the end: after every one, entries are believed to be shorter.
    void trustLess() { m_longest = std::max(m_longest / 2, kShortestLimit); }

    /// The members of the top-level object. Whether its closing brace was met.
    bool members()
    {
        for (;;) {
            const char c = peek();
            if (c == '\0') return false;
            if (c == '}') {
                ++m_at;
                return true;
            }
            if (c == ',') {
                ++m_at;
                continue;
            }
            if (!member()) return false;
        }
    }

    /// Anything behind the end is none of the trace: it is counted. A packed stream is checked to its end on the way.
    void passRest()
    {
        do {
            m_report.bytesBehind +=
                std::count_if(m_at, m_window.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; });
            m_at = m_window.end();
        } while (more(m_at));
    }

    /// One member. False when the walk is over.
    bool member()
    {
        JsonToken key;
        const Scan scan = peek() == '"' ? scanWhole([&](const char*& at, const char* end) {
            if (const Scan name = scanValue(at, end, key); name != Scan::Ok) return name;
            return scanColon(at, end);
        })
                                        : Scan::Broken;
        if (scan == Scan::NeedMore) return atEnd();
        if (scan == Scan::Broken) return recover();
        if (key.text == "traceEvents" && *m_at == '[') {
            ++m_at;
            m_report.foundEvents = true;
            events();
            return true;
        }
        if (!m_visitor.wantsHeader(key.text)) return skipValue();
        const std::string name(key.text);
        JsonToken value;
        const Scan result = scanWhole([&](const char*& at, const char* end) { return scanValue(at, end, value); });
        // A value that has lost its own end has swallowed the events, and perhaps the file.
        const bool swallowed = value.text.find("\"traceEvents\"") != std::string_view::npos;
        if (result == Scan::Ok && swallowed) m_at = value.text.data();
        if (result != Scan::Ok || swallowed) return recover();
        m_visitor.header(name, value);
        return true;
    }

    /// Passes over a value without keeping it in the window.
    bool skipValue()
    {
        if (*m_at != '{' && *m_at != '[') {
            JsonToken ignored;
            const Scan scan = scanWhole([&](const char*& at, const char* end) { return scanValue(at, end, ignored); });
            return scan == Scan::Ok || (scan == Scan::NeedMore ? atEnd() : recover());
        }
        std::int64_t depth = 0;
        bool inString = false, escape = false;
        for (;;) {
            for (; m_at < m_window.end(); ++m_at) {
                const char c = *m_at;
                if (inString) {
                    if (escape)
                        escape = false;
                    else if (c == '\\')
                        escape = true;
                    else if (c == '"') {
                        inString = false;
                        // A key that cannot be inside: the value has lost its end.
                        constexpr std::string_view kEvents = "\"traceEvents";
                        if (m_at - m_window.begin() >= static_cast<std::ptrdiff_t>(kEvents.size()) &&
                            std::string_view(m_at - kEvents.size(), kEvents.size()) == kEvents)
                            return recover();
                    }
                } else if (c == '"') {
                    inString = true;
                } else if (c == '{' || c == '[') {
                    ++depth;
                } else if ((c == '}' || c == ']') && --depth == 0) {
                    ++m_at;
                    return true;
                }
            }
            const std::ptrdiff_t before = std::min<std::ptrdiff_t>(m_at - m_window.begin(), 16);
            if (!more(m_at - before)) {
                m_at = m_window.end();
                return atEnd();
            }
            m_at = m_window.begin() + before;
        }
    }

    /// The entries of the event array, from behind its bracket to behind the closing one.
    void events()
    {
        ChromeEvent event;
        for (;;) {
            const char c = peek();
            if (c == '\0') {
                m_report.bytesLeft = 0;
                return;
            }
            if (c == ',') {
                ++m_at;
            } else if (c == ']') {
                ++m_at;
                m_report.closed = true;
                return;
            } else if (c == '{') {
                const Scan scan = scanWhole([&](const char*& at, const char* end) { return event.read(at, end); });
                if (scan == Scan::Ok) {
                    ++m_report.events;
                    m_visitor.event(event);
                } else if (!(scan == Scan::NeedMore ? insideUnfinished() || atEnd() : findEvent())) {
                    return;
                }
            } else if (!nonEvent(c)) {
                return;
            }
        }
    }

    /// An entry that is no object. False when the walk is over.
    bool nonEvent(char first)
    {
        if (first == '}' || first == ':') return findEvent();
        JsonToken ignored;
        const Scan scan = scanWhole([&](const char*& at, const char* end) {
            if (const Scan value = scanValue(at, end, ignored); value != Scan::Ok) return value;
            at = skipSpace(at, end);
            if (at >= end) return Scan::NeedMore;
            return *at == ',' || *at == ']' ? Scan::Ok : Scan::Broken;
        });
        if (scan == Scan::NeedMore) return atEnd();
        if (scan == Scan::Broken) return findEvent();
        ++m_report.nonEvents;
        return true;
    }

    /// An entry that the file's end cut, or that has lost a bracket and swallowed the entries behind it: moves to the
    /// first of those. False if there is none.
    bool insideUnfinished()
    {
        ChromeEvent probe;
        int probes = 0;
        for (const char* at = m_at + 1; at < m_window.end() && probes < 64; ++at) {
            if (*at != '{' || looksLikeEvent(at + 1) != Scan::Ok || !beginsEntry(at)) continue;
            // Objects among the arguments of a cut entry are none.
            ++probes;
            const char* end = at;
            if (probe.read(end, m_window.end()) != Scan::Ok || !probe[EventKey::Ph]) continue;
            ++m_report.recoveries;
            if (m_report.firstBrokenAt < 0) m_report.firstBrokenAt = m_window.offsetOf(m_at);
            m_report.lostBytes += at - m_at;
            m_at = at;
            trustLess();
            return true;
        }
        return false;
    }

    bool atEnd()
    {
        m_report.bytesLeft += m_window.end() - m_at;
        m_at = m_window.end();
        return false;
    }

    /// Broken text between members: on to the next event if there is one.
    bool recover()
    {
        if (!findEvent()) return false;
        m_report.foundEvents = true;
        events();
        return true;
    }

    /// Moves on to the next text that looks like the beginning of an event. False at the end of the file.
    bool findEvent()
    {
        ++m_report.recoveries;
        if (m_report.firstBrokenAt < 0) m_report.firstBrokenAt = m_window.offsetOf(m_at);
        const std::int64_t from = m_window.offsetOf(m_at);
        if (m_at < m_window.end()) ++m_at;
        for (;;) {
            const char* resume = m_window.end();
            for (const char* at = m_at; at < m_window.end(); ++at) {
                if (*at != '{') continue;
                const Scan scan = looksLikeEvent(at + 1);
                if (scan == Scan::NeedMore) {
                    resume = at;
                    break;
                }
                if (scan == Scan::Ok && beginsEntry(at)) {
                    m_at = at;
                    m_report.lostBytes += m_window.offsetOf(m_at) - from;
                    return true;
                }
            }
            // A little of what stands before stays, to see what is before a brace.
            const std::ptrdiff_t before = std::min<std::ptrdiff_t>(resume - m_window.begin(), kBefore);
            if (!more(resume - before)) {
                m_report.lostBytes += m_window.offsetOf(m_window.end()) - from;
                m_at = m_window.end();
                return false;
            }
            m_at = m_window.begin() + before;
        }
    }

    /// Whether a key of an event follows a brace.
    Scan looksLikeEvent(const char* at) const
    {
        const char* const end = m_window.end();
        const char* const near = end - at > kBefore ? at + kBefore : end;
        at = skipSpace(at, near);
        if (at >= near) return near == end ? Scan::NeedMore : Scan::Broken;
        if (*at != '"') return Scan::Broken;
        const char* const begin = ++at;
        while (at < end && *at != '"' && at - begin < 6) ++at;
        if (at >= end) return Scan::NeedMore;
        return *at == '"' && isEventKey({begin, static_cast<std::size_t>(at - begin)}) ? Scan::Ok : Scan::Broken;
    }

    /// Whether what stands before a brace may stand before an entry: not a colon, which would make it an argument.
    bool beginsEntry(const char* brace) const
    {
        const char* at = brace;
        while (at > m_window.begin() && static_cast<unsigned char>(at[-1]) <= ' ') --at;
        return at == m_window.begin() || at[-1] != ':';
    }

    static constexpr std::ptrdiff_t kBefore = 256; ///< white space that is looked over
    static constexpr std::size_t kShortestLimit = std::size_t{1} << 14;
    std::size_t m_longest = TextWindow::kLargestWindow + (std::size_t{1} << 21); ///< of an entry [bytes]

    TextWindow& m_window;
    ChromeVisitor& m_visitor;
    std::stop_token m_stop;
    const char* m_at;
    ChromeReadReport m_report;
};

} // namespace

Result<ChromeReadReport> readChromeTrace(TextWindow& window, ChromeVisitor& visitor, const std::string& where,
                                         std::stop_token stop)
{
    Walk walk(window, visitor, stop);
    const bool json = walk.run();
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", where, ""};
    if (window.error()) return *window.error();
    if (!json)
        return Error{ErrorCode::Format, "neither a JSON object nor a JSON array", where,
                     "give a PyTorch or Chrome trace (.json or .json.gz)"};
    return walk.report();
}

} // namespace fourwalls::importers
