// SPDX-License-Identifier: GPL-3.0-or-later
// Many trainings beside each other: a catalogue with search and tags, their curves, and what the learning rate did. It shows
// a folder and needs no trace.
#pragma once

#include "model/base/result.h"
#include "views/runs/run_curve_plots.h"

#include <QStringList>
#include <QWidget>

#include <memory>
#include <optional>

class QComboBox;
class QLineEdit;
class QPushButton;
class QSlider;
class QStackedWidget;
class QTableView;

namespace fourwalls::views {

class ColumnFit;
class MessagePage;
class PlotCard;
class PlotLegend;
class RunCoordinatePlot;
class RunSearch;
class RunTable;

class RunsPage : public QWidget {
    Q_OBJECT
public:
    explicit RunsPage(QWidget* parent = nullptr);

    /// name: of the folder.
    void setRuns(const QString& name, std::shared_ptr<RunList> list);
    /// Why the folder could not be read.
    void setProblem(const Error& error);
    /// While it is being read.
    void setReading(const QString& name);
    bool isReady() const { return !m_isReading; }
    /// Why nothing is shown.
    const std::optional<Error>& problem() const { return m_problem; }
    const RunList* runs() const { return m_list.get(); }

    QTableView& table() { return *m_tableView; }
    XyPlot& lossPlot() { return *m_loss; }
    XyPlot& otherPlot() { return *m_other; }
    XyPlot& ratePlot() { return *m_rates; }
    RunCoordinatePlot& coordinatePlot() { return *m_coordinates; }
    void setSearch(const QString& text);
    void setAxis(RunAxis axis);
    void setFigure(RunFigure figure); ///< of the second plot
    void setSmoothing(double weight); ///< 0 to 0.99
    /// What is said of the learning rate's optimum; empty without one.
    QString rateSentence() const;
    /// The catalogue as it is shown, for a spreadsheet.
    QString tableAsCsv() const;

signals:
    void folderRequested();
    /// A run's trace shall be opened; file: path from the folder.
    void openRequested(const QString& file);
    void tagsChanged(const QString& file, const QStringList& tags);

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* makeContent();
    QWidget* makePlots(QWidget* parent);
    void retranslate();
    void showRuns();
    void showPlots();
    void showRates();
    RunChoice choice(RunFigure figure) const;
    std::vector<bool> shownRuns() const;
    int rowOf(const QModelIndex& index) const;
    QString spikeText(const SpikePlace& place) const;
    QString listSentence() const;

    QStackedWidget* m_stack;
    MessagePage* m_empty;
    QPushButton* m_open;
    QWidget* m_content;
    PlotCard *m_listCard, *m_lossCard, *m_otherCard, *m_rateCard, *m_coordinateCard;
    QLineEdit* m_search;
    QTableView* m_tableView;
    RunTable* m_table;
    RunSearch* m_found;
    ColumnFit* m_fit;
    XyPlot *m_loss, *m_other, *m_rates;
    RunCoordinatePlot* m_coordinates;
    PlotLegend* m_legend;
    QComboBox *m_axis, *m_figure;
    QSlider* m_smoothing;
    std::shared_ptr<RunList> m_list;
    std::vector<QColor> m_colours;
    std::vector<RateLine> m_rateLines;
    std::vector<SpikePlace> m_spikes;
    std::optional<Error> m_problem;
    QString m_name;
    bool m_isReading = false;
};

} // namespace fourwalls::views
