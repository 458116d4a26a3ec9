// SPDX-License-Identifier: GPL-3.0-or-later
// "Check the claims": published statements about large-model training, recomputed, each with its working.
#pragma once

#include "views/demos/claims_model.h"

#include <QString>
#include <QWidget>

class QComboBox;
class QLabel;
class QSortFilterProxyModel;
class QTableView;

namespace fourwalls::views {

class ElidedText;
class PlotCard;

class ClaimsPage : public QWidget {
    Q_OBJECT
public:
    explicit ClaimsPage(QWidget* parent = nullptr);

    void setClaims(std::vector<claims::Claim> claims, QHash<QString, double> recorded);
    /// The claims in another language than that of the sources.
    void setWords(ClaimWords words);
    /// Why there are none.
    void setProblem(const QString& text);
    bool isReady() const { return m_ready; }
    ClaimsModel* model() const { return m_model; }
    QString tableAsCsv() const;
    /// Selects the claim of that id.
    void select(const QString& id);

protected:
    void changeEvent(QEvent* event) override;

private:
    void retranslate();
    void showWorking();
    void describe();

    ClaimsModel* m_model;
    QSortFilterProxyModel* m_sorted;
    PlotCard* m_card;
    PlotCard* m_working;
    QComboBox* m_filter;
    QTableView* m_table;
    QLabel* m_text;
    bool m_ready = false;
};

} // namespace fourwalls::views
