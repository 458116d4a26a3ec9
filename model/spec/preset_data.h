// SPDX-License-Identifier: Apache-2.0
// The preset files of resources/presets, built into the program as text.
#pragma once

#include <span>
#include <string_view>

namespace fourwalls {

/// One file resources/presets/KIND/NAME.json.
struct PresetFile {
    std::string_view kind; ///< "models", "devices", "clusters", …
    std::string_view name; ///< file name without ".json"
    std::string_view json; ///< the file's text
};

/// Every preset, ordered by kind and name. Defined by a source that the build writes (model/spec/CMakeLists.txt).
std::span<const PresetFile> embeddedPresets();
/// The one of that kind and name; null if there is none.
const PresetFile* findPreset(std::string_view kind, std::string_view name);

} // namespace fourwalls
