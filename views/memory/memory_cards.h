// SPDX-License-Identifier: GPL-3.0-or-later
// What stands below the memory curve: the tables or, in their place, one of three cards. The cards ask for what they show.
#pragma once

#include "model/present/memory_questions.h"
#include "model/spec/calibration.h"
#include "views/base/view.h"
#include "views/words/format.h"

#include <array>
#include <memory>
#include <optional>
#include <string>

class QSplitter;
class QToolButton;

namespace fourwalls::views {

class MemoryFitCard;
class MemoryGrowthCard;
class MemoryMapCard;

class MemoryCards : public QWidget {
    Q_OBJECT
public:
    enum class Card { Fit, Growth, Segments };
    static constexpr std::size_t kCards = 3;

    /// view: whose trace and predictions are asked.
    MemoryCards(View& view, QWidget* parent);

    /// Where the tables belong.
    QSplitter& tables() { return *m_tables; }
    /// The buttons that put the cards in place of the tables, as children of `row`.
    std::array<QToolButton*, kCards> makeButtons(QWidget* row);

    /// fit, growth, segments: the cards as the command line names them.
    static QStringList names();
    /// Which card is shown; empty: the tables.
    QString shown() const;
    /// Shows the card of that name, or the tables.
    void setShown(const QString& name);
    void toggle(Card card);

    /// Forgets what is shown, and the rank or trace that it is of.
    void forget();
    /// The rank that is looked at. One without buffers has no tables, and none of the cards that need them.
    void setFacts(std::shared_ptr<const MemoryFacts> facts);
    /// The moment of the segments. refused: where the moment is one out of memory.
    void setMoment(Instant at, std::optional<OutOfMemory> refused);
    void setByteUnit(ByteUnit unit);
    /// What is predicted is another.
    void followPrediction();
    /// The measured range is another.
    void followMeasured();
    void retranslate();

    MemoryFitCard& fit() { return *m_fitCard; }
    MemoryGrowthCard& growth() { return *m_growthCard; }
    MemoryMapCard& map() { return *m_mapCard; }
    /// No question about the rank is under way.
    bool isSettled() const;
    /// Of the card that is shown; absent: it has none, or the tables are shown.
    std::optional<QString> tableAsCsv() const;

signals:
    void bufferClicked(fourwalls::AllocationId id);
    /// An answer is shown.
    void settled();
    /// The segments are shown: a moment is wanted.
    void momentWanted();

private:
    QToolButton& button(Card card) const { return *m_buttons[static_cast<std::size_t>(card)]; }
    bool isChosen(Card card) const;
    void choose(Card card, bool on);
    void place();
    void askFit();
    void askGrowth();

    View& m_view;
    QSplitter* m_tables;
    MemoryFitCard* m_fitCard;
    MemoryGrowthCard* m_growthCard;
    MemoryMapCard* m_mapCard;
    std::array<QToolButton*, kCards> m_buttons{};
    std::shared_ptr<const MemoryFacts> m_facts;
    std::optional<RankId> m_growthOf;         ///< whose growth was asked for or is shown
    std::optional<TimeRange> m_growthBetween; ///< and the measured range whose ends were compared
    bool m_growthPending = false;
    std::string m_fitKey;                                ///< the spec that was asked for or is shown
    std::shared_ptr<const Calibration> m_fitCalibration; ///< and the rates that it was asked for with
};

} // namespace fourwalls::views
