// SPDX-License-Identifier: Apache-2.0
// Tags, lengths and limits by libprotobuf, from a ByteSource.
#include "model/import/common/protobuf_reader.h"
#include "model/import/common/read_ahead.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace fourwalls::importers {

namespace {

namespace wire = google::protobuf::io;

constexpr std::size_t kDeepestMessage = 32;
/// A stream of the library counts its bytes in an int: a new one goes on behind this.
constexpr int kStreamAtMost = 1 << 30;

} // namespace

class ProtobufReader::Stream {
    /// The pieces of a file as the library takes them.
    class SourceStream final : public wire::ZeroCopyInputStream {
    public:
        SourceStream(std::unique_ptr<ByteSource> source, std::size_t piece) : m_ahead(std::move(source), piece) {}

        bool Next(const void** data, int* size) override
        {
            if (m_backedUp == 0) {
                if (m_ended) return false;
                if (m_piece) m_ahead.giveBack(std::move(m_piece));
                m_piece = m_ahead.next();
                m_ended = !m_piece;
                if (m_ended) return false;
                m_backedUp = m_piece->size;
            }
            *data = m_piece->data + (m_piece->size - m_backedUp);
            *size = static_cast<int>(m_backedUp);
            m_given += static_cast<std::int64_t>(m_backedUp);
            m_backedUp = 0;
            return true;
        }
        void BackUp(int count) override
        {
            m_backedUp = static_cast<std::size_t>(count);
            m_given -= count;
        }
        bool Skip(int count) override
        {
            const void* data = nullptr;
            int size = 0;
            while (count > 0) {
                if (!Next(&data, &size)) return false;
                if (size > count) BackUp(size - count);
                count -= std::min(count, size);
            }
            return true;
        }
        std::int64_t ByteCount() const override { return m_given; }

        const ReadAhead::End& end() const { return m_ahead.end(); }

    private:
        ReadAhead m_ahead;
        std::unique_ptr<ReadAhead::Piece> m_piece;
        std::size_t m_backedUp = 0; ///< of the piece, not taken yet
        std::int64_t m_given = 0;
        bool m_ended = false; ///< nothing more comes
    };

public:
    Stream(std::unique_ptr<ByteSource> bytes, std::size_t piece) : source(std::move(bytes), piece) { renew(); }

    void renew()
    {
        coded.reset(); // gives back what it had read ahead
        base = source.ByteCount();
        coded = std::make_unique<wire::CodedInputStream>(&source); // reads ahead at once
        coded->SetTotalBytesLimit(std::numeric_limits<int>::max());
    }

    SourceStream source;
    std::unique_ptr<wire::CodedInputStream> coded;
    std::int64_t base = 0; ///< bytes before this stream of the library
};

ProtobufReader::ProtobufReader(std::unique_ptr<ByteSource> source, std::string path, std::size_t piece)
    : m_path(std::move(path))
    , m_stream(std::make_unique<Stream>(std::move(source), piece))
{}

ProtobufReader::~ProtobufReader() = default;

std::int64_t ProtobufReader::position() const
{
    return m_stream->base + m_stream->coded->CurrentPosition() - m_unseen;
}

double ProtobufReader::real() const
{
    if (m_kind == Kind::Fixed32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(m_value)));
    return m_kind == Kind::Fixed64 ? std::bit_cast<double>(m_value) : static_cast<double>(integer());
}

void ProtobufReader::skipRest()
{
    if (!m_unread) return;
    m_unread = false;
    if (!m_stream->coded->Skip(static_cast<int>(m_value))) fail();
}

bool ProtobufReader::next()
{
    skipRest();
    if (m_damaged) return false;
    if (m_limits.empty() && m_stream->coded->CurrentPosition() > kStreamAtMost) m_stream->renew();
    wire::CodedInputStream& in = *m_stream->coded;
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) {
        // The end of the message or of the file; anything else is a tag that cannot be.
        const bool end = m_limits.empty() ? in.ConsumedEntireMessage() : in.BytesUntilLimit() == 0;
        if (!end || m_stream->source.end().error || (m_limits.empty() && !m_stream->source.end().damage.empty()))
            fail();
        return false;
    }
    m_field = static_cast<int>(tag >> 3);
    bool sound = m_field > 0;
    switch (tag & 7) {
    case 0:
        m_kind = Kind::Number;
        sound = sound && in.ReadVarint64(&m_value);
        break;
    case 1:
        m_kind = Kind::Fixed64;
        sound = sound && in.ReadLittleEndian64(&m_value);
        break;
    case 2: {
        m_kind = Kind::Bytes;
        std::uint32_t size = 0;
        sound = sound && in.ReadVarint32(&size) && size <= static_cast<std::uint32_t>(std::numeric_limits<int>::max());
        const int left = in.BytesUntilLimit();
        sound = sound && (m_limits.empty() || static_cast<std::int64_t>(size) <= left);
        m_value = size;
        m_unread = sound;
        break;
    }
    case 5: {
        m_kind = Kind::Fixed32;
        std::uint32_t value = 0;
        sound = sound && in.ReadLittleEndian32(&value);
        m_value = value;
        break;
    }
    default: sound = false; break; // groups: nobody writes them
    }
    if (!sound) fail();
    return sound;
}

bool ProtobufReader::nextOfFile()
{
    skipRest();
    if (m_damaged || !m_limits.empty()) return false;
    if (m_stream->coded->CurrentPosition() > kStreamAtMost) m_stream->renew();
    const void* data = nullptr;
    int left = 0;
    if (!m_stream->coded->GetDirectBufferPointer(&data, &left)) {
        if (m_stream->source.end().error || !m_stream->source.end().damage.empty()) fail();
        return false;
    }
    std::uint32_t size = 0;
    if (!m_stream->coded->ReadVarint32(&size) || size > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
        fail();
        return false;
    }
    m_kind = Kind::Bytes;
    m_value = size;
    m_unread = true;
    return true;
}

void ProtobufReader::text(std::string& to, std::size_t longest)
{
    to.clear();
    if (!m_unread) return;
    m_unread = false;
    const std::size_t kept = std::min<std::size_t>(m_value, longest);
    wire::CodedInputStream& in = *m_stream->coded;
    if (!in.ReadString(&to, static_cast<int>(kept)) || !in.Skip(static_cast<int>(m_value - kept))) fail();
}

std::optional<ProtobufMessage> ProtobufReader::whole()
{
    const void* data = nullptr;
    int size = 0;
    if (!m_unread || !m_stream->coded->GetDirectBufferPointer(&data, &size)) return std::nullopt;
    if (static_cast<std::uint64_t>(size) < m_value) return std::nullopt;
    return ProtobufMessage({static_cast<const char*>(data), static_cast<std::size_t>(m_value)});
}

void ProtobufReader::end(const ProtobufMessage& message)
{
    if (!message.damaged()) return;
    skipRest();
    m_unseen = static_cast<std::int64_t>(message.left());
    fail();
}

void ProtobufReader::enter()
{
    if (!m_unread || m_limits.size() >= kDeepestMessage) return fail();
    m_unread = false;
    m_limits.push_back(m_stream->coded->PushLimit(static_cast<int>(m_value)));
}

void ProtobufReader::leave()
{
    skipRest();
    if (m_limits.empty()) return;
    const int left = m_stream->coded->BytesUntilLimit();
    if (!m_damaged && left > 0 && !m_stream->coded->Skip(left)) fail();
    m_stream->coded->PopLimit(m_limits.back());
    m_limits.pop_back();
}

Error ProtobufReader::error() const
{
    if (m_stream->source.end().error) return *m_stream->source.end().error;
    const std::string damage = m_stream->source.end().damage;
    return {ErrorCode::Format,
            (damage.empty() ? std::string("no sound protocol buffer") : damage) + ": cut or damaged at byte " +
                std::to_string(position()),
            m_path, "copy it again, or record it again"};
}

} // namespace fourwalls::importers
