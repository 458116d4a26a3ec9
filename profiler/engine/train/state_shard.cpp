// SPDX-License-Identifier: Apache-2.0
// See state_shard.h.
#include "profiler/engine/train/state_shard.h"

#include "model/base/disk.h"
#include "profiler/engine/core/host_access.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <limits>

namespace fourwalls::engine {

namespace {

std::string tensorsOf(int rank)
{
    return "rank-" + std::to_string(rank) + ".safetensors";
}

std::string placesOf(int rank)
{
    return "rank-" + std::to_string(rank) + ".json";
}

std::int64_t fullElements(const Parameter& p)
{
    return p.shard.whole ? p.shape.elements() : p.shard.fullRows * p.shard.fullColumns;
}

std::int64_t fullIndex(const Shard& shard, std::int64_t index)
{
    return shard.whole ? index : shard.fullIndex(index);
}

nlohmann::json jsonOf(const std::string& of, std::int64_t first, const Shard& shard)
{
    nlohmann::json place{{"of", of}, {"first", first}};
    if (shard.whole) return place;
    place["full"] = {shard.fullRows, shard.fullColumns};
    place["rows"] = {shard.firstRow, shard.rows};
    place["columns"] = nlohmann::json::array();
    for (const Shard::Columns& each : shard.columns) place["columns"].push_back({each.first, each.count});
    return place;
}

/// Two numbers from 0 whose sum or product is none that overflows.
bool isPair(const nlohmann::json& json)
{
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    return json.is_array() && json.size() == 2 && json[0].is_number_unsigned() && json[1].is_number_unsigned() &&
           json[0].get<std::uint64_t>() <= kMost && json[1].get<std::uint64_t>() <= kMost;
}

IndexRange rangeOf(const nlohmann::json& pair)
{
    return {pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>()};
}

/// The place of `elements` values; false: the text is none that was written by jsonOf.
bool readPlace(const nlohmann::json& json, std::int64_t elements, std::int64_t& first, Shard& shard)
{
    if (!json.is_object() || !json.contains("of") || !json["of"].is_string() || !json.contains("first") ||
        !json["first"].is_number_unsigned())
        return false;
    first = json["first"].get<std::int64_t>();
    if (first < 0 || first > std::numeric_limits<std::int64_t>::max() - elements) return false;
    if (!json.contains("full")) return true;
    if (!isPair(json["full"]) || !json.contains("rows") || !isPair(json["rows"]) || !json.contains("columns") ||
        !json["columns"].is_array() || json["columns"].empty())
        return false;
    shard.whole = false;
    shard.fullRows = rangeOf(json["full"]).first;
    shard.fullColumns = rangeOf(json["full"]).count;
    shard.firstRow = rangeOf(json["rows"]).first;
    shard.rows = rangeOf(json["rows"]).count;
    std::int64_t columns = 0;
    for (const nlohmann::json& each : json["columns"]) {
        if (!isPair(each)) return false;
        const IndexRange range = rangeOf(each);
        if (range.count == 0 || range.first + range.count > shard.fullColumns) return false;
        shard.columns.push_back(range);
        columns += range.count;
        if (columns > shard.fullColumns) return false;
    }
    return shard.firstRow + shard.rows <= shard.fullRows && first + elements <= shard.rows * columns;
}

Error unfit(const std::string& file, std::string what)
{
    return {ErrorCode::Format, std::move(what), file, "another checkpoint"};
}

} // namespace

std::vector<std::string> StateShard::filesOf(int rank)
{
    return {tensorsOf(rank), placesOf(rank)};
}

void StateShard::add(const std::string& state, const std::vector<ParameterPiece>& pieces)
{
    for (const ParameterPiece& piece : pieces) {
        if (!piece.counts || piece.weight.elements() == 0) continue;
        const HostAccess from(piece.weight, HostAccess::Mode::Read);
        const char* const bytes = static_cast<const char*>(from.data());
        m_parts.push_back({state + "/" + piece.parameter->name,
                           piece.first,
                           piece.parameter->shard,
                           piece.weight.type(),
                           {bytes, bytes + piece.weight.bytes()}});
    }
}

std::int64_t StateShard::bytes() const
{
    std::int64_t bytes = 0;
    for (const Part& part : m_parts) bytes += static_cast<std::int64_t>(part.values.size());
    return bytes;
}

Status StateShard::write(const std::string& directory) const
{
    std::vector<TensorToStore> tensors;
    nlohmann::json places = nlohmann::json::object();
    std::map<std::string, int> times;
    for (const Part& part : m_parts) {
        std::string name = part.of + "@" + std::to_string(times[part.of]++);
        places[name] = jsonOf(part.of, part.first, part.shard);
        tensors.push_back({std::move(name),
                           part.type,
                           {static_cast<std::int64_t>(part.values.size()) / bytesOf(part.type)},
                           part.values.size()});
    }
    FOURWALLS_TRY(writeSafetensors(directory + "/" + tensorsOf(m_rank), tensors, [&](std::ostream& out) {
        for (const Part& part : m_parts)
            out.write(part.values.data(), static_cast<std::streamsize>(part.values.size()));
    }));
    // Its appearance says that this rank is done.
    const std::string file = directory + "/" + placesOf(m_rank), made = file + ".part";
    std::ofstream out(made, std::ios::trunc);
    out << places.dump() << '\n';
    out.close();
    if (!out) return Error{ErrorCode::Io, "cannot be written", file, "a folder with free space"};
    FOURWALLS_TRY(bringToDisk(made));
    std::error_code problem;
    std::filesystem::rename(made, file, problem);
    if (problem) return Error{ErrorCode::Io, "cannot be written: " + problem.message(), file, "another folder"};
    return {};
}

void StateShard::removeFrom(const std::string& directory) const
{
    std::error_code ignored;
    for (const std::string& each : filesOf(m_rank))
        for (const char* mark : {"", ".part"}) std::filesystem::remove(directory + "/" + each + mark, ignored);
}

Result<ShardReader> ShardReader::open(const std::string& directory, int shards)
{
    ShardReader reader;
    reader.m_directory = directory;
    for (int rank = 0; rank < shards; ++rank) {
        const std::string file = directory + "/" + placesOf(rank);
        FOURWALLS_TRY_ASSIGN(const SafetensorsHeader header, readSafetensorsHeader(directory + "/" + tensorsOf(rank)));
        std::ifstream in(file);
        const nlohmann::json places = nlohmann::json::parse(in, nullptr, false);
        if (!places.is_object()) return unfit(file, "is no list of places");
        for (const auto& [name, tensor] : header.tensors) {
            Place place{rank, tensor, 0, {}};
            if (tensor.shape.size() != 1 || (tensor.type != "F32" && tensor.type != "F64") || !places.contains(name) ||
                !readPlace(places[name], tensor.shape.front(), place.first, place.shard))
                return unfit(file, "does not say where \"" + name.substr(0, 80) + "\" lies");
            reader.m_places[places[name]["of"].get<std::string>()].push_back(std::move(place));
        }
        reader.m_dataOffsets.push_back(header.dataOffset);
    }
    return reader;
}

Result<std::vector<double>> ShardReader::whole(const std::string& of, std::int64_t elements) const
{
    const auto found = m_places.find(of);
    std::vector<double> values(static_cast<std::size_t>(elements));
    std::vector<bool> there(static_cast<std::size_t>(elements));
    std::int64_t missing = elements;
    std::vector<char> bytes;
    if (found != m_places.end())
        for (const Place& place : found->second) {
            const std::string file = m_directory + "/" + tensorsOf(place.file);
            std::ifstream in(file, std::ios::binary);
            bytes.resize(place.stored.end - place.stored.begin);
            in.seekg(
                static_cast<std::streamoff>(m_dataOffsets[static_cast<std::size_t>(place.file)] + place.stored.begin));
            if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
                return Error{ErrorCode::Io, "ended while being read", file, "another checkpoint"};
            for (std::int64_t i = 0; i < place.stored.shape.front(); ++i) {
                const std::int64_t at = fullIndex(place.shard, place.first + i);
                if (at < 0 || at >= elements) return unfit(file, "\"" + of + "\" has another shape than the model");
                values[static_cast<std::size_t>(at)] = storedElement(place.stored.type, bytes.data(), i);
                missing -= there[static_cast<std::size_t>(at)] ? 0 : 1;
                there[static_cast<std::size_t>(at)] = true;
            }
        }
    if (missing > 0)
        return unfit(m_directory, std::to_string(missing) + " of " + std::to_string(elements) + " elements of \"" + of +
                                      "\" are in none of its files");
    return values;
}

Status ShardReader::read(RankContext& rank, const std::string& state, const std::vector<ParameterPiece>& pieces) const
{
    std::string held;
    std::vector<double> values;
    for (const ParameterPiece& piece : pieces) {
        const Parameter& p = *piece.parameter;
        if (held != p.name) {
            FOURWALLS_TRY_ASSIGN(values, whole(state + "/" + p.name, fullElements(p)));
            held = p.name;
        }
        { // the weights are brought back where this ends, which throws if the device has failed
            const HostAccess to(piece.weight, HostAccess::Mode::Write);
            for (std::int64_t i = 0; i < piece.weight.elements(); ++i)
                to.set(i, values[static_cast<std::size_t>(fullIndex(p.shard, piece.first + i))]);
        }
        if (piece.compute.defined()) rank.device.convert(piece.weight, piece.compute);
    }
    return {};
}

} // namespace fourwalls::engine
