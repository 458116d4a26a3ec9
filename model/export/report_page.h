// SPDX-License-Identifier: Apache-2.0
// The parts that a report's page is made of: its style sheet, sections, tables and figures with their captions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls {

inline constexpr const char* kReportDash = "\xe2\x80\x93"; ///< where there is no value
/// "main_grad" -> "main grad".
std::string spacedWords(std::string_view name);
/// "layer 3" or "8 layers"; a dash for none.
std::string layersText(const std::set<std::int32_t>& layers);
/// "12 ms"; "0" for zero and below.
std::string timeTick(double seconds);

/// A large figure. meaning: shown when the pointer rests on it.
struct ReportFigure {
    std::string words, value, meaning;
};

/// Collects the body of a page; texts are escaped here and nowhere else.
class ReportPage {
public:
    void section(std::string_view heading, std::string_view explanation = {});
    void paragraph(std::string_view text);
    /// svg: a drawing as svg_figures makes it. caption may be empty.
    void figure(const std::string& svg, std::string_view caption = {});
    /// png: the bytes of a picture, which become part of the page. meaning: for who does not see it.
    void picture(std::string_view png, std::string_view meaning);
    /// What is typed into a terminal.
    void code(std::string_view text);
    /// Coloured squares with words, as a key to a figure: class and word.
    void key(const std::vector<std::pair<std::string, std::string>>& entries);
    /// The first column is text, the others are figures and stand right; numbers: false leaves all left.
    void table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows,
               bool numbers = true);
    /// "and 12 more ranks.", if not all were shown.
    void more(std::size_t all, std::size_t shown, std::string_view what);
    /// Large figures side by side: what, and how much.
    void figures(const std::vector<ReportFigure>& entries);

    /// The whole document.
    std::string html(std::string_view title, std::string_view subtitle, const std::vector<std::string>& labels) const;

private:
    std::string m_body;
};

} // namespace fourwalls
