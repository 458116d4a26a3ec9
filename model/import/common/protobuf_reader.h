// SPDX-License-Identifier: Apache-2.0
// The fields of a protocol buffer, one after the other, from a stream: messages of a profile are as large as the file, so
// none is ever held as a whole. The wire format is libprotobuf's work (CodedInputStream); which field means what is in the
// readers, so that no generated code and no compiler for it is needed.
#pragma once

#include "model/base/result.h"
#include "model/import/common/byte_source.h"
#include "model/import/common/protobuf_message.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

class ProtobufReader {
public:
    /// path: for errors. piece: bytes read at a time.
    ProtobufReader(std::unique_ptr<ByteSource> source, std::string path, std::size_t piece = std::size_t{1} << 18);
    ~ProtobufReader();
    ProtobufReader(const ProtobufReader&) = delete;
    ProtobufReader& operator=(const ProtobufReader&) = delete;

    /// The next field of the message that was entered last; what is left of the one before is passed over. False at the
    /// message's end, or where the bytes are no protocol buffer: see damaged().
    bool next();

    /// Of a file of messages that each begin with their length: the next one, for enter(). False at the file's end, or
    /// where it is damaged. At the top only.
    bool nextOfFile();

    int field() const { return m_field; }
    bool isMessage() const { return m_kind == Kind::Bytes; } ///< or text, or packed numbers
    /// Of a field that is a number: its bits, and as what it can be meant.
    std::uint64_t bits() const { return m_value; }
    std::int64_t integer() const { return static_cast<std::int64_t>(m_value); }
    double real() const;
    /// Bytes of a text or message.
    std::uint64_t size() const { return m_value; }

    /// The field as a text. Of a longer one than `longest` that much is kept.
    void text(std::string& to, std::size_t longest);
    /// The field as a message in memory, where all of it is at hand (mostly; else absent: enter() it): until next().
    std::optional<ProtobufMessage> whole();
    /// What whole() gave has been read: its damage is the file's.
    void end(const ProtobufMessage& message);
    /// Reads the field as a message, until leave(). Without it, next() passes the field over.
    void enter();
    void leave();

    /// Whether the bytes could not be read to the end, and where that was [bytes from the beginning, unpacked].
    bool damaged() const { return m_damaged; }
    std::int64_t position() const;
    /// What to say of it: "cut or damaged at byte N". Errors of the file itself come first.
    Error error() const;

private:
    enum class Kind : std::uint8_t { Number, Fixed32, Fixed64, Bytes };
    class Stream;
    void fail() { m_damaged = true; }
    void skipRest();

    std::string m_path;
    std::unique_ptr<Stream> m_stream;
    int m_field = 0;
    Kind m_kind = Kind::Number;
    bool m_unread = false; ///< of a field of bytes: nobody has taken it
    bool m_damaged = false;
    std::uint64_t m_value = 0;
    std::int64_t m_unseen = 0; ///< of a damaged message that was whole(): bytes behind the damage
    std::vector<int> m_limits; ///< of entered messages
};

} // namespace fourwalls::importers
