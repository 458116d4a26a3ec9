// SPDX-License-Identifier: GPL-3.0-or-later
// Published claims as rows: claimed, computed, recorded where a trace has it, verdict.
#pragma once

#include "model/claims/claims.h"
#include "views/demos/claim_words.h"

#include <QAbstractTableModel>
#include <QHash>

#include <vector>

namespace fourwalls::views {

class ClaimsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Wall, Statement, Claimed, Computed, Recorded, Verdict, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    /// recorded: by the claim's id, in the claim's unit.
    void setClaims(std::vector<claims::Claim> claims, QHash<QString, double> recorded);
    /// In another language than that of the sources.
    void setWords(ClaimWords words);
    const ClaimWords& texts() const { return m_words; }
    const claims::Claim& claim(int row) const { return m_claims[static_cast<std::size_t>(row)]; }
    void retranslate();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    static QString words(claims::Wall wall);
    static QString words(claims::Verdict verdict);

private:
    QString text(const claims::Claim& claim, int column) const;

    std::vector<claims::Claim> m_claims;
    QHash<QString, double> m_recorded;
    ClaimWords m_words;
};

} // namespace fourwalls::views
