// SPDX-License-Identifier: Apache-2.0
// Presets by name, or a user's JSON file by path.
#include "model/base/nearest_name.h"
#include "model/spec/calibration.h"
#include "model/spec/framework_preset.h"
#include "model/spec/preset_data.h"
#include "model/spec/run_spec.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fourwalls {

namespace {

std::vector<std::string> presetNames(std::string_view kind)
{
    std::vector<std::string> names;
    for (const PresetFile& preset : embeddedPresets())
        if (preset.kind == kind) names.emplace_back(preset.name);
    return names;
}

std::string joined(const std::vector<std::string>& names)
{
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

/// What there is of a kind, and before it the one that may have been meant.
std::string choices(std::string_view kind, const std::string& word)
{
    const std::vector<std::string> names = presetNames(kind);
    std::string meant = nearestName(word, names);
    const auto has = [&word](const std::string& name) { return name.find(word) != std::string::npos; };
    if (const auto part = std::ranges::find_if(names, has); meant.empty() && !word.empty() && part != names.end())
        meant = *part;
    return (meant.empty() ? std::string() : meant + "? There are ") + joined(names);
}

/// What a name or path stands for, and the name that the thing gets if its text has none.
struct Description {
    std::string text;
    std::string where;
    std::string defaultName;
};

Result<Description> findDescription(std::string_view kind, const std::string& thing, const std::string& nameOrFile)
{
    if (const PresetFile* preset = findPreset(kind, nameOrFile))
        return Description{std::string(preset->json), thing + " preset " + nameOrFile, nameOrFile};

    constexpr std::uintmax_t kLargestFile = 1'000'000;
    const std::filesystem::path path(nameOrFile);
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure))
        return Error{ErrorCode::NotFound, "no " + thing + " preset and no file of that name", "'" + nameOrFile + "'",
                     choices(kind, nameOrFile) + ", or a JSON file"};
    if (std::filesystem::file_size(path, failure) > kLargestFile || failure)
        return Error{ErrorCode::Format, "too large for a " + thing + " description", nameOrFile, "a JSON file"};
    std::ifstream file(path, std::ios::binary);
    Description description;
    description.text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) return Error{ErrorCode::Io, "cannot be read", nameOrFile, "check the permissions"};
    description.where = nameOrFile;
    description.defaultName = path.stem().string();
    return description;
}

/// The line of a field of a JSON text, by its path ("device.memory_bytes"); of the innermost object on that path if
/// the field itself is not there. 0 if nothing of it is there.
std::size_t lineOfField(std::string_view text, std::string_view path)
{
    std::size_t at = 0, found = std::string_view::npos;
    while (!path.empty()) {
        const std::size_t dot = path.find('.');
        std::string_view key = path.substr(0, dot);
        key = key.substr(0, key.find('['));
        const std::string quoted = "\"" + std::string(key) + "\"";
        const std::size_t next = text.find(quoted, at);
        if (next == std::string_view::npos) break;
        found = next;
        at = next + quoted.size();
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    if (found == std::string_view::npos) return 0;
    return 1 +
           static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
}

/// An error about a field says in which line of the file it is.
Error withLine(Error error, const Description& description)
{
    constexpr std::string_view kField = "field \"";
    const std::size_t begin = error.what.find(kField);
    if (begin == std::string::npos || error.where != description.where) return error;
    const std::size_t first = begin + kField.size();
    const std::string path = error.what.substr(first, error.what.find('"', first) - first);
    if (const std::size_t line = lineOfField(description.text, path); line > 0)
        error.where += ", line " + std::to_string(line);
    return error;
}

/// The description itself. A whole specification, as `export --format spec` writes it, has it under its name.
std::string partOf(const std::string& text, const std::string& thing)
{
    const nlohmann::json whole = nlohmann::json::parse(text, nullptr, false);
    const bool isWhole = whole.is_object() && whole.contains(thing) && whole[thing].is_object();
    return isWhole ? whole[thing].dump() : text;
}

/// Reads a description with `parse`; errors get their line.
template <class T, class Parse>
Result<T> readDescription(std::string_view kind, const std::string& thing, const std::string& nameOrFile, Parse parse)
{
    FOURWALLS_TRY_ASSIGN(const Description found, findDescription(kind, thing, nameOrFile));
    Result<T> result = parse(partOf(found.text, thing), found.where);
    if (!result) return withLine(result.error(), found);
    if constexpr (requires { result->name; }) {
        if (result->name.empty()) result->name = found.defaultName;
    }
    return result;
}

} // namespace

const PresetFile* findPreset(std::string_view kind, std::string_view name)
{
    for (const PresetFile& preset : embeddedPresets())
        if (preset.kind == kind && preset.name == name) return &preset;
    return nullptr;
}

Result<ModelSpec> loadModel(const std::string& nameOrFile)
{
    return readDescription<ModelSpec>("models", "model", nameOrFile, modelSpecFromJson);
}

Result<ClusterSpec> loadCluster(const std::string& nameOrFile)
{
    return readDescription<ClusterSpec>("clusters", "cluster", nameOrFile, clusterSpecFromJson);
}

Result<FrameworkPreset> loadFramework(const std::string& nameOrFile)
{
    return readDescription<FrameworkPreset>("frameworks", "framework", nameOrFile, frameworkPresetFromJson);
}

Result<Calibration> loadCalibration(const std::string& nameOrFile)
{
    return readDescription<Calibration>("calibration", "calibration", nameOrFile, calibrationFromJson);
}

Result<std::string_view> devicePresetJson(std::string_view name, std::string_view where)
{
    if (const PresetFile* preset = findPreset("devices", name)) return preset->json;
    return Error{ErrorCode::NotFound, "no device preset '" + std::string(name) + "'", std::string(where),
                 choices("devices", std::string(name))};
}

std::vector<std::string> modelPresetNames()
{
    return presetNames("models");
}
std::vector<std::string> clusterPresetNames()
{
    return presetNames("clusters");
}
std::vector<std::string> frameworkPresetNames()
{
    return presetNames("frameworks");
}

} // namespace fourwalls
