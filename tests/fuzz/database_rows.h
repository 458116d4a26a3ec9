// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets for databases share: sound databases with any rows. The bytes are read as which tables and columns
// are missing, and as a list of rows with values of any type and magnitude.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::fuzz {

struct Table {
    std::string name;
    std::vector<std::string> columns;
};

/// Makes the database and imports it. texts: some of the values, which mean something to the importer.
void importDatabase(const std::uint8_t* data, std::size_t size, const std::vector<Table>& tables,
                    const std::vector<const char*>& texts);

} // namespace fourwalls::fuzz
