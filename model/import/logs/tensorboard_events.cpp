// SPDX-License-Identifier: Apache-2.0
// Event files of TensorBoard: records of a length, a checksum, and a protocol buffer. The frame is that of TFRecord
// (tensorflow's record_writer.h); messages and field numbers are of event.proto, summary.proto and tensor.proto.
#include "model/import/common/byte_source.h"
#include "model/import/common/import_format.h"
#include "model/import/common/protobuf_message.h"
#include "model/import/logs/step_log.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestEvent = std::size_t{1} << 20; ///< longer ones are graphs and pictures
constexpr std::size_t kFrame = 12;                          ///< length and its checksum

std::array<std::uint32_t, 256> crcTable()
{
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78U : 0);
        table[i] = value;
    }
    return table;
}

/// The checksum (CRC-32C) as TFRecord stores it: turned, with something added.
std::uint32_t maskedCrc(std::string_view bytes)
{
    static const std::array<std::uint32_t, 256> kTable = crcTable();
    std::uint32_t crc = ~0U;
    for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
    return std::rotr(~crc, 15) + 0xa282ead8U;
}

template <class Number>
Number littleEndian(const char* bytes)
{
    Number value = 0;
    for (std::size_t i = sizeof(Number); i-- > 0;)
        value = static_cast<Number>(value << 8 | static_cast<unsigned char>(bytes[i]));
    return value;
}

/// Reads exactly that many bytes; fewer at the end.
Result<std::size_t> readAll(ByteSource& source, char* to, std::size_t size)
{
    std::size_t got = 0;
    while (got < size) {
        FOURWALLS_TRY_ASSIGN(const std::size_t more, source.read(to + got, size - got));
        if (more == 0) break;
        got += more;
    }
    return got;
}

/// A scalar that is stored as a tensor, which TensorBoard's newer writers do.
std::optional<double> scalarOf(ProtobufMessage tensor)
{
    std::optional<double> value;
    std::int64_t type = 0;
    while (tensor.next()) {
        const int field = tensor.field();
        if (field == 1) type = tensor.integer();
        if ((field == 5 || field == 6) && !tensor.isMessage()) value = tensor.real();
        if ((field == 4 || field == 5 || field == 6) && tensor.isMessage()) {
            const std::string_view bytes = tensor.bytes();
            const bool isDouble = field == 6 || (field == 4 && type == 2);
            if (isDouble && bytes.size() >= 8)
                value = std::bit_cast<double>(littleEndian<std::uint64_t>(bytes.data()));
            else if (!isDouble && (field == 5 || type == 1) && bytes.size() >= 4)
                value = static_cast<double>(std::bit_cast<float>(littleEndian<std::uint32_t>(bytes.data())));
        }
    }
    return tensor.damaged() ? std::nullopt : value;
}

using Scalars = std::vector<std::pair<std::string, double>>;

/// False where the bytes are no summary.
bool readSummary(ProtobufMessage summary, Scalars& scalars)
{
    while (summary.next()) {
        if (summary.field() != 1 || !summary.isMessage()) continue;
        ProtobufMessage in(summary.bytes());
        std::string tag;
        std::optional<double> value;
        while (in.next()) {
            if (in.field() == 1 && in.isMessage()) in.text(tag, 200);
            if (in.field() == 2 && !in.isMessage()) value = in.real();
            if (in.field() == 8 && in.isMessage()) value = scalarOf(ProtobufMessage(in.bytes()));
        }
        if (in.damaged()) return false;
        if (value && !tag.empty()) scalars.emplace_back(std::move(tag), *value);
    }
    return !summary.damaged();
}

void readEvent(std::string_view record, StepLog& log)
{
    ProtobufMessage in(record);
    double wallTime = 0;
    std::int64_t step = 0;
    Scalars scalars;
    while (in.next()) {
        if (in.field() == 1) wallTime = in.real();
        if (in.field() == 2) step = in.integer();
        if (in.field() == 5 && in.isMessage() && !readSummary(ProtobufMessage(in.bytes()), scalars)) return;
    }
    if (in.damaged() || scalars.empty()) return;
    LoggedStep* const logged = log.at(step);
    if (!logged) {
        log.leftOut += static_cast<std::int64_t>(scalars.size());
        return;
    }
    if (wallTime > 0 && wallTime < 1e10 && (!logged->unixTime || wallTime < *logged->unixTime))
        logged->unixTime = wallTime;
    for (const auto& [tag, value] : scalars) log.add(*logged, tag, value);
}

} // namespace

bool isTensorBoard(std::string_view beginning)
{
    // The first event names its version; it is small.
    constexpr std::size_t kFirstEvent = 64;
    return beginning.substr(0, kFirstEvent).find("brain.Event:") != std::string_view::npos;
}

Status readTensorBoard(const std::string& path, StepLog& log)
{
    log.producer = "TensorBoard";
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<ByteSource> source, openByteSource(path));
    std::int64_t position = 0;
    const auto damaged = [&](const char* what) {
        log.damage = std::string(what) + " at byte " + std::to_string(position);
        return Status();
    };
    std::array<char, kFrame> frame{};
    std::string record;
    for (;;) {
        FOURWALLS_TRY_ASSIGN(const std::size_t got, readAll(*source, frame.data(), frame.size()));
        if (got == 0) return {};
        if (got < frame.size()) return damaged("the file is cut");
        const auto size = littleEndian<std::uint64_t>(frame.data());
        if (maskedCrc({frame.data(), 8}) != littleEndian<std::uint32_t>(frame.data() + 8))
            return damaged("a wrong checksum");
        // A record is read in pieces: a length that is a lie takes no memory.
        record.clear();
        std::array<char, 65536> piece{};
        std::uint64_t left = size;
        while (left > 0) {
            FOURWALLS_TRY_ASSIGN(
                const std::size_t part,
                readAll(*source, piece.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()))));
            if (part == 0) return damaged("the file is cut");
            if (size <= kLongestEvent) record.append(piece.data(), part);
            left -= part;
        }
        FOURWALLS_TRY_ASSIGN(const std::size_t tail, readAll(*source, frame.data(), 4));
        if (tail < 4) return damaged("the file is cut");
        if (size <= kLongestEvent && maskedCrc(record) != littleEndian<std::uint32_t>(frame.data()))
            return damaged("a wrong checksum");
        position += static_cast<std::int64_t>(kFrame + 4 + size);
        ++log.records;
        if (size <= kLongestEvent) readEvent(record, log);
    }
}

} // namespace fourwalls::importers
