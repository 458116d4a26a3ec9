// SPDX-License-Identifier: Apache-2.0
// The stack machine of pickle protocols 0 to 5, as far as plain values need it.
#include "model/import/snapshot/pickle_reader.h"

#include "model/import/common/byte_source.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/text_window.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <unordered_map>

namespace fourwalls::importers {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostValues = std::size_t{1} << 28;
constexpr std::uint64_t kLongestText = std::uint64_t{8} << 20;

bool isContainer(const PickleValue& value)
{
    return value.kind == Kind::List || value.kind == Kind::Dict;
}

/// Text as protocol 0 writes it: a byte a character, and \uXXXX or \UXXXXXXXX for those beyond (and for backslashes and
/// line breaks). As Python's raw-unicode-escape.
std::string fromRawEscapes(std::string_view line)
{
    std::string text;
    while (!line.empty()) {
        std::uint32_t code = static_cast<unsigned char>(line[0]);
        const std::size_t digits = line.substr(0, 2) == "\\u" ? 4 : line.substr(0, 2) == "\\U" ? 8 : 0;
        std::size_t taken = 1;
        if (digits > 0 && line.size() >= 2 + digits) {
            const char* const end = line.data() + 2 + digits;
            std::uint32_t escaped = 0;
            if (std::from_chars(line.data() + 2, end, escaped, 16).ptr == end) {
                code = escaped;
                taken = 2 + digits;
            }
        }
        appendUtf8(text, code);
        line.remove_prefix(taken);
    }
    return text;
}

} // namespace

class PickleMachine {
public:
    PickleMachine(TextWindow& window, const PickleReduce& reduce, std::stop_token stop)
        : m_window(window)
        , m_reduce(reduce)
        , m_stop(std::move(stop))
        , m_at(window.begin())
    {}

    /// Empty if all went well, else what went wrong.
    std::string run(Pickle& pickle)
    {
        m_pickle = &pickle;
        while (m_problem.empty()) {
            if ((++m_steps & 0xffff) == 0 && m_stop.stop_requested()) return "cancelled";
            if (m_stack.size() + m_pickle->m_held + m_pickle->m_places.size() > kMostValues)
                return "more values than are read";
            const int opcode = byte();
            if (opcode < 0) return "the file is cut";
            if (opcode == '.') {
                if (m_stack.empty()) return "the pickle is empty";
                pickle.m_root = m_stack.back();
                return {};
            }
            step(static_cast<unsigned char>(opcode));
        }
        return m_problem;
    }

private:
    bool need(std::size_t bytes)
    {
        while (static_cast<std::size_t>(m_window.end() - m_at) < bytes) {
            if (!m_window.more(m_at)) return false;
            m_at = m_window.begin();
        }
        return true;
    }
    int byte()
    {
        if (!need(1)) return -1;
        return static_cast<unsigned char>(*m_at++);
    }
    /// Little-endian, unsigned; a cut file sets the problem.
    std::uint64_t number(std::size_t bytes)
    {
        if (!need(bytes)) {
            fail("the file is cut");
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(m_at[i])) << (8 * i);
        m_at += bytes;
        return value;
    }
    /// Up to the next line break, which is taken, too.
    std::string line()
    {
        std::size_t length = 0;
        while (length <= kLongestText && need(length + 1) && m_at[length] != '\n') ++length;
        if (length > kLongestText || !need(length + 1)) {
            fail(length > kLongestText ? "a line of more than " + std::to_string(kLongestText) + " bytes"
                                       : "the file is cut");
            return {};
        }
        std::string text(m_at, length);
        m_at += length + 1;
        return text;
    }
    std::int64_t decimal(std::string_view digits)
    {
        const auto value = integerFromText(digits);
        if (!value) fail("damaged: a number that is none");
        return value.value_or(0);
    }
    void fail(const std::string& problem)
    {
        if (m_problem.empty()) m_problem = problem;
    }

    void push(PickleValue value) { m_stack.push_back(value); }
    void pushInteger(std::int64_t value) { push({Kind::Int, 0, value}); }
    void pushText(std::uint64_t length)
    {
        if (length > kLongestText) return fail("a text of " + std::to_string(length) + " bytes");
        if (!need(length)) return fail("the file is cut");
        std::string text(m_at, length);
        m_at += length;
        pushText(std::move(text));
    }
    void pushText(std::string text)
    {
        const auto [found, isNew] =
            m_textIds.try_emplace(std::move(text), static_cast<std::uint32_t>(m_pickle->m_texts.size()));
        if (isNew) m_pickle->m_texts.push_back(found->first);
        push({Kind::Text, found->second, 0});
    }
    void pushContainer(Kind kind, std::size_t from)
    {
        std::vector<PickleValue> items(m_stack.begin() + static_cast<std::ptrdiff_t>(from), m_stack.end());
        m_stack.resize(from);
        push(m_pickle->make(kind, std::move(items)));
    }
    void pushTuple(std::size_t size)
    {
        if (m_stack.size() < size) return fail("damaged: too few values for a tuple");
        pushContainer(Kind::List, m_stack.size() - size);
    }
    /// Where the values above the last mark begin; the mark is taken off.
    std::size_t popMark()
    {
        if (m_marks.empty() || m_marks.back() > m_stack.size()) {
            fail("damaged: no mark");
            return m_stack.size();
        }
        const std::size_t mark = m_marks.back();
        m_marks.pop_back();
        return mark;
    }
    /// LIST and DICT: the values above the last mark become one.
    void containerOfMarked(Kind kind)
    {
        const std::size_t mark = popMark();
        if (!m_problem.empty()) return;
        m_stack.insert(m_stack.begin() + static_cast<std::ptrdiff_t>(mark), m_pickle->make(kind, {}));
        extend(kind, mark + 1);
    }
    /// Appends the values from `from` on to the container below them.
    void extend(Kind kind, std::size_t from)
    {
        if (!m_problem.empty()) return;
        if (from == 0 || from > m_stack.size() || m_stack[from - 1].kind != kind ||
            (kind == Kind::Dict && (m_stack.size() - from) % 2 != 0))
            return fail("damaged: nothing to add to");
        const PickleValue target = m_stack[from - 1];
        for (std::size_t i = from; i < m_stack.size(); ++i) {
            if (isContainer(m_stack[i]) && m_stack[i].index == target.index)
                return fail("a container that holds itself");
            if (kind == Kind::List && m_stack[i].kind == Kind::Dict && m_reduce) m_reduce(*m_pickle, m_stack[i]);
        }
        m_pickle->m_replaced.clear();
        // Reducing an item may have released the very list that it is put into.
        if (!m_pickle->isLive(target)) return fail("damaged: a record that holds the list it is in");
        auto& items = m_pickle->m_places[target.index].items;
        const std::size_t before = items.size();
        for (std::size_t i = from; i < m_stack.size(); ++i) {
            if (kind == Kind::List && !items.empty() && continues(items.back(), m_stack[i]))
                items.back().index += m_stack[i].index;
            else
                items.push_back(m_stack[i]);
        }
        m_pickle->m_held += items.size() - before;
        m_stack.resize(from);
    }
    static bool continues(const PickleValue& run, const PickleValue& next)
    {
        constexpr std::uint32_t kLongest = 1u << 31;
        return run.kind == Kind::Run && next.kind == Kind::Run && run.index < kLongest && next.index < kLongest &&
               run.integer + run.index == next.integer;
    }
    void memoGet(std::uint64_t id)
    {
        const PickleMemo& memo = *m_pickle->m_memo;
        const auto found = m_sparse.find(id);
        if (id < memo.size())
            push(memo[id]);
        else if (found != m_sparse.end())
            push(found->second);
        else
            fail("damaged: a memo entry that does not exist");
    }
    void memoPut(std::uint64_t id)
    {
        if (m_stack.empty()) return fail("damaged: nothing to remember");
        PickleMemo& memo = *m_pickle->m_memo;
        const PickleValue value = m_stack.back();
        if (id > memo.size()) {
            m_sparse[id] = value;
            return;
        }
        if (id == memo.size())
            memo.push_back(value);
        else
            memo.set(id, value);
        if (isContainer(value) && m_pickle->isLive(value))
            m_pickle->m_places[value.index].memo = static_cast<std::int64_t>(id);
    }
    void longInteger(std::uint64_t length)
    {
        // Addresses beyond 2^63 have a ninth byte.
        if (length > 9) return fail("a number of " + std::to_string(length) + " bytes");
        std::uint64_t value = number(std::min<std::uint64_t>(length, 8));
        if (length == 9) number(1);
        if (length > 0 && length < 8 && (value >> (8 * length - 1) & 1)) value |= ~std::uint64_t{0} << (8 * length);
        pushInteger(static_cast<std::int64_t>(value));
    }

    void step(unsigned char opcode)
    {
        switch (opcode) {
        case 0x80: number(1); break;                                // PROTO
        case 0x95: number(8); break;                                // FRAME
        case '}': pushContainer(Kind::Dict, m_stack.size()); break; // EMPTY_DICT
        case ']': pushContainer(Kind::List, m_stack.size()); break; // EMPTY_LIST
        case ')': pushContainer(Kind::List, m_stack.size()); break; // EMPTY_TUPLE
        case '(': m_marks.push_back(m_stack.size()); break;         // MARK
        case 't': {                                                 // TUPLE
            const std::size_t mark = popMark();
            if (m_problem.empty()) pushContainer(Kind::List, mark);
            break;
        }
        case 0x85: pushTuple(1); break;
        case 0x86: pushTuple(2); break;
        case 0x87: pushTuple(3); break;
        case 'N': push({}); break;
        case 0x88: push({Kind::Bool, 1, 1}); break;
        case 0x89: push({Kind::Bool, 0, 0}); break;
        case 'J': pushInteger(static_cast<std::int32_t>(number(4))); break; // BININT
        case 'K': pushInteger(static_cast<std::int64_t>(number(1))); break;
        case 'M': pushInteger(static_cast<std::int64_t>(number(2))); break;
        case 0x8a: longInteger(number(1)); break; // LONG1
        case 0x8b: longInteger(number(4)); break; // LONG4
        case 'G': push({Kind::Real, 0, static_cast<std::int64_t>(bigEndian(8))}); break;
        case 0x8c: pushText(number(1)); break; // SHORT_BINUNICODE
        case 'X': pushText(number(4)); break;  // BINUNICODE
        case 0x8d: pushText(number(8)); break; // BINUNICODE8
        case 'U':
        case 'C': pushText(number(1)); break; // SHORT_BINSTRING, SHORT_BINBYTES
        case 'T':
        case 'B': pushText(number(4)); break; // BINSTRING, BINBYTES
        case 0x8e:
        case 0x96: pushText(number(8)); break; // BINBYTES8, BYTEARRAY8
        case 0x94:
            memoPut(m_pickle->m_memo->size());
            break; // MEMOIZE
        // Of protocols 0 and 1, which write numbers and texts as lines.
        case 'd': containerOfMarked(Kind::Dict); break;
        case 'l': containerOfMarked(Kind::List); break;
        case 'I': { // INT, and booleans
            const std::string digits = line();
            if (digits == "00" || digits == "01")
                push({Kind::Bool, digits == "01", digits == "01"});
            else
                pushInteger(decimal(digits));
            break;
        }
        case 'L': { // LONG
            std::string digits = line();
            if (digits.ends_with('L')) digits.pop_back();
            pushInteger(decimal(digits));
            break;
        }
        case 'F': { // FLOAT
            const std::string digits = line();
            double value = 0;
            if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{})
                fail("damaged: a number that is none");
            push({Kind::Real, 0, std::bit_cast<std::int64_t>(value)});
            break;
        }
        case 'V': pushText(fromRawEscapes(line())); break;                     // UNICODE
        case 'p': memoPut(static_cast<std::uint64_t>(decimal(line()))); break; // PUT
        case 'g': memoGet(static_cast<std::uint64_t>(decimal(line()))); break; // GET
        case 'q': memoPut(number(1)); break;
        case 'r': memoPut(number(4)); break;
        case 'h': memoGet(number(1)); break;
        case 'j': memoGet(number(4)); break;
        case 's': extend(Kind::Dict, m_stack.size() < 2 ? 0 : m_stack.size() - 2); break;
        case 'a': extend(Kind::List, m_stack.empty() ? 0 : m_stack.size() - 1); break;
        case 'u': extend(Kind::Dict, popMark()); break;
        case 'e': extend(Kind::List, popMark()); break;
        case '0':
            if (m_stack.empty())
                fail("damaged: nothing to take off");
            else
                m_stack.pop_back();
            break;
        case 'c':
        case 0x93:
        case 'i':
        case 'o':
        case 'R':
        case 'b':
        case 0x81:
        case 0x92:
        case 'P':
        case 'Q':
        case 0x82:
        case 0x83:
        case 0x84:
            fail("it would run code (opcode " + std::to_string(opcode) + "), which plain values never need");
            break;
        default: fail("opcode " + std::to_string(opcode) + " at this place"); break;
        }
    }
    std::uint64_t bigEndian(std::size_t bytes)
    {
        std::uint64_t little = number(bytes), value = 0;
        for (std::size_t i = 0; i < bytes; ++i, little >>= 8) value = value << 8 | (little & 0xff);
        return value;
    }

    TextWindow& m_window;
    const PickleReduce& m_reduce;
    std::stop_token m_stop;
    const char* m_at;
    Pickle* m_pickle = nullptr;
    std::vector<PickleValue> m_stack;
    std::vector<std::size_t> m_marks;
    std::unordered_map<std::uint64_t, PickleValue> m_sparse;
    std::unordered_map<std::string, std::uint32_t> m_textIds;
    std::size_t m_steps = 0;
    std::string m_problem;
};

void PickleMemo::push_back(const PickleValue& value)
{
    m_recent.push_back(value);
    if (m_recent.size() <= kRecent) return;
    m_old.push_back(m_recent.front());
    m_recent.pop_front();
}

void PickleMemo::set(std::size_t id, const PickleValue& value)
{
    if (id < m_old.size())
        m_old.set(id, value);
    else
        m_recent[id - m_old.size()] = value;
}

std::string_view Pickle::text(const PickleValue& value) const
{
    return value.kind == Kind::Text ? std::string_view(m_texts[value.index]) : std::string_view();
}

const std::vector<PickleValue>& Pickle::items(const PickleValue& container) const
{
    static const std::vector<PickleValue> kEmpty;
    return isLive(container) ? m_places[container.index].items : kEmpty;
}

const std::vector<PickleValue>& Pickle::list(const PickleValue& value) const
{
    static const std::vector<PickleValue> kEmpty;
    return value.kind == Kind::List ? items(value) : kEmpty;
}

PickleValue Pickle::make(Kind kind, std::vector<PickleValue> with)
{
    std::uint32_t index = 0;
    if (m_free.empty()) {
        index = static_cast<std::uint32_t>(m_places.size());
        m_places.emplace_back();
    } else {
        index = m_free.back();
        m_free.pop_back();
    }
    Place& place = m_places[index];
    place.use = ++m_uses;
    place.memo = -1;
    m_held += with.size();
    place.items = std::move(with);
    return {kind, index, place.use};
}

void Pickle::release(const PickleValue& container, const PickleValue& replacement)
{
    if (!isContainer(container) || !isLive(container)) return;
    Place& place = m_places[container.index];
    // The memo entry may have been given to another value since.
    if (place.memo >= 0 && m_memo) {
        const auto id = static_cast<std::size_t>(place.memo);
        const PickleValue entry = (*m_memo)[id];
        if (entry.kind == container.kind && entry.integer == container.integer) m_memo->set(id, replacement);
    }
    m_replaced[container.integer] = replacement;
    m_held -= place.items.size();
    place.items = {};
    place.use = 0;
    m_free.push_back(container.index);
}

PickleValue Pickle::resolve(const PickleValue& value) const
{
    if (!isContainer(value) || isLive(value)) return value;
    const auto found = m_replaced.find(value.integer);
    return found == m_replaced.end() ? PickleValue{} : found->second;
}

PickleValue Pickle::get(const PickleValue& dict, std::string_view key) const
{
    PickleValue found;
    forEachEntry(dict, [&](std::string_view name, const PickleValue& value) {
        if (name == key) found = value;
    });
    return found;
}

Result<Pickle> readPickle(const std::string& path, const PickleReduce& reduce, std::stop_token stop,
                          const std::string& scratchFolder)
{
    FOURWALLS_TRY_ASSIGN(auto source, openByteSource(path));
    TextWindow window(std::move(source));
    Pickle pickle;
    pickle.m_memo = std::make_unique<PickleMemo>(scratchFolder);
    PickleMachine machine(window, reduce, stop);
    const std::string problem = machine.run(pickle);
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", path, ""};
    if (window.error()) return *window.error();
    FOURWALLS_TRY(pickle.m_memo->status()); // before the problem, which may follow from it
    if (!problem.empty()) return Error{ErrorCode::Format, problem, path, ""};
    // Only at its end a packed stream tells whether it was whole.
    while (!stop.stop_requested() && window.more(window.end())) {
    }
    pickle.m_damage = window.damage();
    pickle.m_memo.reset();
    return pickle;
}

} // namespace fourwalls::importers
