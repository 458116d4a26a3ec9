// SPDX-License-Identifier: GPL-3.0-or-later
// The furniture around a plot: a card with a title and a one-sentence finding, a row of large figures, a legend, and
// the buttons of a choice.
#pragma once

#include "views/plot/spoken.h"

#include <QColor>
#include <QWidget>

#include <vector>

class QHBoxLayout;
class QSplitter;
class QToolButton;
class QVBoxLayout;

namespace fourwalls::views {

/// A flat button that stays down while its choice holds.
QToolButton* choiceButton(QWidget* parent);

/// Text that is cut with an ellipsis when there is no room; the whole of it is the tool tip.
class ElidedText : public QWidget, public Spoken {
    Q_OBJECT
public:
    enum class Tone { Title, Plain, Quiet, Warning, Alarm };
    explicit ElidedText(Tone tone, Qt::Alignment alignment = Qt::AlignLeft, QWidget* parent = nullptr);
    void setText(const QString& text);
    void setTone(Tone tone);
    void setAlignment(Qt::Alignment alignment);
    /// 1, or 2: a text that is too long takes a second line before it is cut.
    void setMostLines(int lines);
    const QString& text() const { return m_text; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    QAccessible::Role spokenRole() const override { return QAccessible::StaticText; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QFont textFont() const;
    QString cut(const QString& text) const;
    QStringList shownLines() const;
    QStringList paintedLines() const;
    void tellWhatIsCut();

    QString m_text;
    Tone m_tone;
    Qt::Alignment m_alignment;
    int m_mostLines = 1, m_lines = 1;
};

/// A card: title and controls on the left of its first row, the finding on the right, or below them where there is no
/// room for all of it; content below.
class PlotCard : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit PlotCard(QWidget* parent = nullptr);
    ElidedText& title() { return *m_title; }
    ElidedText& finding() { return *m_finding; }
    /// Beside the title, left to right.
    void addControl(QWidget* control);
    /// Below the first row, top to bottom.
    void addContent(QWidget* content, int stretch = 0);
    QAccessible::Role spokenRole() const override { return QAccessible::Grouping; }
    /// With what wraps at its width: a splitter asks for no height for a width.
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void placeFinding(bool mayRise);

    ElidedText* m_title;
    ElidedText* m_finding;
    QHBoxLayout* m_header;
    QVBoxLayout* m_body;
    bool m_below = false;
};

/// Cards beside or below each other, with the usual gap as the handle; none can be pushed away.
QSplitter* cardSplitter(Qt::Orientation orientation, QWidget* parent = nullptr);

/// One figure with its name above and what it is compared with below.
struct PlotFigure {
    QString name, value, note;
    bool alarm = false; ///< the figure stands at a wall, or became worse
    QString tip = {};   ///< what the figure means
    bool good = false;  ///< it became better
};

/// A row of figures, each on its own card, all of one width. A note that is too long for one line takes two; what is cut
/// even there is the tool tip.
class FigureStrip : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit FigureStrip(QWidget* parent = nullptr);
    void setFigures(std::vector<PlotFigure> figures);
    const std::vector<PlotFigure>& figures() const { return m_figures; }
    QSize sizeHint() const override { return {600, wantedHeight()}; }
    QSize minimumSizeHint() const override { return {300, wantedHeight()}; }
    /// Where the card of a figure is drawn.
    QRect cardRect(std::size_t figure) const;
    /// How many lines the notes take at this width: 1 or 2; for tests.
    int noteLines() const { return m_noteLines; }
    QAccessible::Role spokenRole() const override { return QAccessible::StaticText; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    int wantedHeight() const;
    double cardWidth() const;
    void placeNotes();

    std::vector<PlotFigure> m_figures;
    int m_noteLines = 1;
};

/// What the colours and lines of a plot mean.
class PlotLegend : public QWidget, public Spoken {
    Q_OBJECT
public:
    enum class Mark { Area, Line, Dashed, Dotted, Wall, Hatch, Sign, Note };
    struct Entry {
        Mark mark = Mark::Area;
        QColor colour;
        QString text;
        QString sign = {}; ///< of Mark::Sign, as it stands in the plot; Mark::Note has only its text
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    explicit PlotLegend(QWidget* parent = nullptr);
    /// Most important first: what does not fit into two rows is left out from the end; the tool tip has all of it.
    void setEntries(std::vector<Entry> entries);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {60, 20}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QAccessible::Role spokenRole() const override { return QAccessible::StaticText; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void tellWhatIsCut();
    double widthOf(const Entry& entry) const;
    static double markWidth(Mark mark);
    /// Where entries begin at a width, of those that fit.
    std::vector<QPointF> places(double width) const;
    std::vector<Entry> m_entries;
};

} // namespace fourwalls::views
