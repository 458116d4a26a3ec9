// SPDX-License-Identifier: Apache-2.0
// See safetensors.h.
#include "profiler/engine/train/safetensors.h"

#include "model/base/disk.h"
#include "profiler/engine/core/host_access.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

namespace fourwalls::engine {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr std::uint64_t kLargestHeader = 100'000'000; // as in the reference implementation

std::optional<std::uint64_t> bytesPerElement(const std::string& type)
{
    if (type == "F64" || type == "I64" || type == "U64") return 8;
    if (type == "F32" || type == "I32" || type == "U32") return 4;
    if (type == "F16" || type == "BF16" || type == "I16" || type == "U16") return 2;
    if (type == "I8" || type == "U8" || type == "BOOL") return 1;
    return std::nullopt;
}

Error formatError(const std::string& file, std::string what)
{
    return {ErrorCode::Format, std::move(what), file,
            "a file written by --save-weights, or by Hugging Face's safetensors"};
}

double halfToDouble(std::uint16_t h)
{
    const int sign = h >> 15, exponent = (h >> 10) & 31, fraction = h & 1023;
    double value;
    if (exponent == 0)
        value = std::ldexp(fraction, -24);
    else if (exponent == 31)
        value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    else
        value = std::ldexp(1024 + fraction, exponent - 25);
    return sign ? -value : value;
}

// Everything that belongs into a weight file: what has a tensor.
std::vector<Parameter*> storedIn(const ParameterList& parameters)
{
    std::vector<Parameter*> stored;
    for (const auto* list : {&parameters.all(), &parameters.buffers()})
        for (const auto& p : *list)
            if (p->weight.defined()) stored.push_back(p.get());
    return stored;
}

// Of the one-rank parameter, of which this rank may hold a part.
std::int64_t wholeRows(const Parameter& p)
{
    return p.shard.whole ? p.shape.elements() / p.shape.last() : p.shard.fullRows;
}
std::int64_t wholeColumns(const Parameter& p)
{
    return p.shard.whole ? p.shape.last() : p.shard.fullColumns;
}

// One tensor's entry of the header.
Result<StoredTensor> readEntry(const std::string& file, const std::string& name, const nlohmann::json& entry,
                               std::uint64_t dataBytes)
{
    const auto bad = [&](const std::string& what) {
        return formatError(file, "tensor \"" + name.substr(0, 80) + "\" " + what);
    };
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
        return bad("lacks dtype, shape or data_offsets");
    const auto& type = entry["dtype"];
    const auto& shape = entry["shape"];
    const auto& offsets = entry["data_offsets"];
    if (!type.is_string() || !bytesPerElement(type.get<std::string>())) return bad("has an unknown dtype");
    if (!shape.is_array() || shape.size() > 8) return bad("has no proper shape");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
        return bad("has no proper data_offsets");
    StoredTensor tensor;
    tensor.type = type.get<std::string>();
    std::uint64_t bytes = *bytesPerElement(tensor.type);
    for (const auto& extent : shape) {
        if (!extent.is_number_unsigned()) return bad("has a negative or fractional extent");
        const auto value = extent.get<std::uint64_t>();
        std::uint64_t product = 0;
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
            __builtin_mul_overflow(bytes, value, &product))
            return bad("is impossibly large");
        bytes = product;
        tensor.shape.push_back(static_cast<std::int64_t>(value));
    }
    tensor.begin = offsets[0].get<std::uint64_t>();
    tensor.end = offsets[1].get<std::uint64_t>();
    if (tensor.begin > tensor.end || tensor.end > dataBytes) return bad("reaches beyond the end of the file");
    if (tensor.end - tensor.begin != bytes) return bad("has a size that does not match its shape");
    return tensor;
}

} // namespace

double storedElement(const std::string& type, const char* bytes, std::int64_t index)
{
    const auto get = [bytes, index]<class T>(T) {
        T value;
        std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
        return value;
    };
    if (type == "F32") return static_cast<double>(get(float{}));
    if (type == "F64") return get(double{});
    if (type == "BF16") return static_cast<double>(Bf16{get(std::uint16_t{})}.toFloat());
    return halfToDouble(get(std::uint16_t{}));
}

Result<SafetensorsHeader> readSafetensorsHeader(const std::string& file)
{
    std::error_code problem;
    if (!std::filesystem::is_regular_file(file, problem))
        return Error{ErrorCode::Io, "is not a readable file", file, "a directory that holds model.safetensors"};
    const std::uint64_t size = std::filesystem::file_size(file, problem);
    std::ifstream in(file, std::ios::binary);
    if (problem || !in) return Error{ErrorCode::Io, "cannot be read", file, "another file"};
    std::uint64_t headerBytes = 0;
    if (size < 8 || !in.read(reinterpret_cast<char*>(&headerBytes), 8))
        return formatError(file, "is too short for safetensors");
    if (headerBytes > kLargestHeader || headerBytes > size - 8)
        return formatError(file, "has a header longer than the file");
    std::string text(headerBytes, '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(headerBytes)))
        return Error{ErrorCode::Io, "cannot be read", file, "another file"};
    if (text.empty() || text.front() != '{') return formatError(file, "has a header that is not a JSON object");

    // Depth is limited by the callback: a hostile header could nest until the parser's stack ends.
    bool tooDeep = false;
    const auto callback = [&tooDeep](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        if (depth > 4) tooDeep = true;
        return depth <= 4;
    };
    const nlohmann::json json = nlohmann::json::parse(text, callback, false);
    if (json.is_discarded() || !json.is_object() || tooDeep)
        return formatError(file, "has a header that is not a proper JSON object");

    SafetensorsHeader header;
    header.dataOffset = 8 + headerBytes;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [name, entry] : json.items()) {
        if (name == "__metadata__") continue;
        auto tensor = readEntry(file, name, entry, size - header.dataOffset);
        if (!tensor) return tensor.error();
        ranges.emplace_back(tensor->begin, tensor->end);
        header.tensors.emplace(name, std::move(*tensor));
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].first < ranges[i - 1].second) return formatError(file, "has tensors that overlap");
    return header;
}

Status writeSafetensors(const std::string& file, const std::vector<TensorToStore>& tensors,
                        const std::function<void(std::ostream&)>& data)
{
    nlohmann::ordered_json header;
    header["__metadata__"] = {{"format", "pt"}};
    std::uint64_t offset = 0;
    for (const TensorToStore& tensor : tensors) {
        header[tensor.name] = {{"dtype", tensor.type == DType::F64 ? "F64" : "F32"},
                               {"shape", tensor.shape},
                               {"data_offsets", {offset, offset + tensor.bytes}}};
        offset += tensor.bytes;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' '); // the data starts aligned

    const std::string part = file + ".part";
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    const std::uint64_t headerBytes = text.size();
    out.write(reinterpret_cast<const char*>(&headerBytes), 8);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    data(out);
    out.close();
    std::error_code problem;
    if (!out || !bringToDisk(part).ok()) {
        std::filesystem::remove(part, problem);
        return Error{ErrorCode::Io, "cannot be written", file, "a directory with free space and write permission"};
    }
    std::filesystem::rename(part, file, problem);
    if (problem) return Error{ErrorCode::Io, "cannot be written: " + problem.message(), file, "another directory"};
    return {};
}

Status saveWeights(const std::string& directory, const ParameterList& parameters, const std::string& name)
{
    std::error_code problem;
    std::filesystem::create_directories(directory, problem);
    if (problem) return Error{ErrorCode::Io, "cannot be created: " + problem.message(), directory, "another directory"};
    std::vector<TensorToStore> tensors;
    for (Parameter* p : storedIn(parameters)) {
        const std::uint64_t width = static_cast<std::uint64_t>(bytesOf(p->weight.type()));
        for (const auto& piece : p->pieces) {
            std::vector<std::int64_t> shape;
            const Shape& full = p->weight.shape();
            if (full.rank() == 1)
                shape = {piece.columns};
            else if (full.rank() == 2)
                shape = piece.transposed ? std::vector{piece.columns, full[0]} : std::vector{full[0], piece.columns};
            else
                for (int i = 0; i < full.rank(); ++i) shape.push_back(full[i]);
            tensors.push_back({piece.name, p->weight.type(), std::move(shape),
                               static_cast<std::uint64_t>(p->weight.rows() * piece.columns) * width});
        }
    }
    return writeSafetensors(directory + "/" + name, tensors, [&](std::ostream& out) {
        std::vector<char> buffer;
        for (Parameter* p : storedIn(parameters)) {
            const std::int64_t rows = p->weight.rows(), columns = p->weight.columns();
            const std::size_t width = static_cast<std::size_t>(bytesOf(p->weight.type()));
            const HostAccess weight(p->weight, HostAccess::Mode::Read);
            const char* source = static_cast<const char*>(weight.data());
            for (const auto& piece : p->pieces) {
                buffer.resize(static_cast<std::size_t>(rows * piece.columns) * width);
                for (std::int64_t i = 0; i < rows; ++i)
                    for (std::int64_t j = 0; j < piece.columns; ++j) {
                        const auto to =
                            static_cast<std::size_t>(piece.transposed ? j * rows + i : i * piece.columns + j);
                        const auto from = static_cast<std::size_t>(i * columns + piece.firstColumn + j);
                        std::memcpy(buffer.data() + to * width, source + from * width, width);
                    }
                out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
            }
        }
    });
}

Status loadPieces(RankContext& rank, const std::string& directory, const std::vector<ParameterPiece>& pieces,
                  const std::vector<Parameter*>& buffers, const std::string& name)
{
    const std::string file = directory + "/" + name;
    auto header = readSafetensorsHeader(file);
    if (!header) return header.error();
    std::vector<ParameterPiece> all = pieces;
    for (Parameter* buffer : buffers) {
        all.emplace_back();
        all.back().parameter = buffer;
        all.back().weight = buffer->weight;
    }
    // Everything is checked before the first weight changes.
    for (const ParameterPiece& part : all) {
        const Parameter& p = *part.parameter;
        for (const auto& piece : p.pieces) {
            const auto found = header->tensors.find(piece.name);
            if (found == header->tensors.end())
                return Error{ErrorCode::Format, "has no tensor \"" + piece.name + "\"", file,
                             "weights of the same model"};
            const StoredTensor& t = found->second;
            std::int64_t elements = 1;
            for (const auto extent : t.shape) elements *= extent;
            const std::int64_t rows = wholeRows(p), first = piece.transposed ? piece.columns : rows;
            if (elements != rows * piece.columns ||
                (p.shape.rank() == 2 && (t.shape.size() != 2 || t.shape[0] != first)))
                return Error{ErrorCode::Format, "tensor \"" + piece.name + "\" has another shape than the model", file,
                             "weights of the same model"};
            if (t.type != "F32" && t.type != "F64" && t.type != "BF16" && t.type != "F16")
                return Error{ErrorCode::Format, "tensor \"" + piece.name + "\" is not floating point", file,
                             "weights of the same model"};
        }
    }
    std::ifstream in(file, std::ios::binary);
    std::vector<char> bytes;
    for (const ParameterPiece& part : all) {
        const Parameter& p = *part.parameter;
        const std::int64_t rows = wholeRows(p), columns = wholeColumns(p);
        { // the weights are brought back where this ends, which throws if the device has failed
            const HostAccess weight(part.weight, HostAccess::Mode::ReadWrite);
            for (const auto& piece : p.pieces) {
                const StoredTensor& t = header->tensors.at(piece.name);
                bytes.resize(t.end - t.begin);
                in.seekg(static_cast<std::streamoff>(header->dataOffset + t.begin));
                if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
                    return Error{ErrorCode::Io, "ended while being read", file, "another file"};
                for (std::int64_t i = 0; i < part.weight.elements(); ++i) {
                    const std::int64_t place = p.shard.whole ? part.first + i : p.shard.fullIndex(part.first + i);
                    const std::int64_t row = place / columns, column = place % columns - piece.firstColumn;
                    if (column < 0 || column >= piece.columns) continue;
                    const std::int64_t stored = piece.transposed ? column * rows + row : row * piece.columns + column;
                    weight.set(i, storedElement(t.type, bytes.data(), stored));
                }
            }
        }
        if (part.compute.defined()) rank.device.convert(part.weight, part.compute);
    }
    return {};
}

Status loadWeights(RankContext& rank, const std::string& directory, ParameterList& parameters)
{
    std::vector<Parameter*> buffers;
    for (const auto& buffer : parameters.buffers()) buffers.push_back(buffer.get());
    return loadPieces(rank, directory, wholePieces(parameters), buffers);
}

} // namespace fourwalls::engine
