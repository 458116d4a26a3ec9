// SPDX-License-Identifier: Apache-2.0
// What the words of a row of published measurements mean: framework, precision, schedule, recomputation. What is not
// said, or in words that nobody here knows, is an assumption and says so.
#pragma once

#include "model/compare/csv_table.h"
#include "model/spec/parallel_plan.h"
#include "model/spec/training_settings.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::compare {

bool has(std::string_view text, std::string_view word);
bool hasAny(std::string_view text, std::initializer_list<std::string_view> words);
/// Whether a text has the word and does not deny it just before ("not compiled", "no flash attention", "without …").
bool affirms(std::string_view text, std::string_view word);

/// The whole number behind "word=", "word:" or "word ": "zero1=8" and "etp: 2".
std::optional<int> numberAfter(std::string_view text, std::string_view word);

/// Cells of one row, in lower case.
struct Cells {
    const CsvTable& table;
    std::size_t row;

    std::string text(std::string_view column) const;
    std::string_view raw(std::string_view column) const { return table.text(row, column); }
    std::optional<double> number(std::string_view column) const { return table.number(row, column); }
    std::optional<std::int64_t> count(std::string_view column) const;
};

/// Fills in what a row leaves blank and remembers that, as "field=value", with the row's own words where it had some.
class Assumptions {
public:
    explicit Assumptions(std::vector<std::string>& list) : m_list(list) {}
    template <class T>
    T take(const std::optional<T>& given, const char* field, T otherwise)
    {
        if (given) return *given;
        note(std::string(field) + "=" + number(static_cast<double>(otherwise)));
        return otherwise;
    }
    void note(std::string text) { m_list.push_back(std::move(text)); }
    /// said: the words that were not understood; empty where there were none.
    void note(const std::string& text, std::string_view said)
    {
        note(said.empty() ? text : text + " (said: " + std::string(said) + ")");
    }
    static std::string number(double value);

private:
    std::vector<std::string>& m_list;
};

/// The preset of a framework. Without a word, or with one that no preset stands for, the nearest one, as an assumption.
std::string frameworkOf(const Cells& cells, Assumptions& assume);

Precision precisionOf(const Cells& cells, Assumptions& assume);
/// Of a plan with a pipeline, of which the virtual stages are known.
PipelineSchedule scheduleOf(const Cells& cells, const ParallelPlan& plan, Assumptions& assume);
/// The modules that a row names in its column or behind "recomputed: " in its notes, as a sum of RecomputeModule.
unsigned recomputedModules(const Cells& cells);
Recompute recomputeOf(const Cells& cells, Assumptions& assume);
/// The parts of training that a row's words send to the host.
void readOffload(const Cells& cells, ParallelPlan& plan, Assumptions& assume);
/// What the row did that is priced as if it had not: fine-tuning, dropped tokens, prediction of several tokens.
void noteUnpriced(const Cells& cells, Assumptions& assume);

} // namespace fourwalls::compare
