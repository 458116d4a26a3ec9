// SPDX-License-Identifier: GPL-3.0-or-later
// The changes that the cost model predicts would help most, each a click away from the sliders.
#pragma once

#include <QString>
#include <QWidget>

#include <vector>

class QLabel;
class QVBoxLayout;
class QPushButton;

namespace fourwalls::views {

struct SuggestionRow {
    QString change; ///< "16 micro-batches instead of 8"; a finding's title
    QString time;   ///< "611 ms (−11 %)"; a finding's figures
    QString memory; ///< "+1.2 GB"; empty: none
    QString advice; ///< what to do about it, below the figures; empty: nothing is said
};

class SuggestionList : public QWidget {
    Q_OBJECT
public:
    explicit SuggestionList(QWidget* parent = nullptr);
    /// rows: at most three; note: what to say below, or instead of them. action: text of every row's button.
    void setRows(const std::vector<SuggestionRow>& rows, const QString& note, const QString& action);
    const std::vector<QPushButton*>& buttons() const { return m_buttons; }
    QString note() const;

signals:
    void chosen(int row);

protected:
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitRows();

    QVBoxLayout* m_layout;
    QWidget* m_rows = nullptr;
    QLabel* m_note;
    std::vector<QPushButton*> m_buttons;
};

} // namespace fourwalls::views
