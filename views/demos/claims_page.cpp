// SPDX-License-Identifier: GPL-3.0-or-later
// See claims_page.h.
#include "views/demos/claims_page.h"

#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>

namespace fourwalls::views {

ClaimsPage::ClaimsPage(QWidget* parent)
    : QWidget(parent)
    , m_model(new ClaimsModel(this))
    , m_sorted(new QSortFilterProxyModel(this))
    , m_card(new PlotCard(this))
    , m_working(new PlotCard(this))
    , m_filter(new QComboBox(m_card))
    , m_table(new QTableView(m_card))
    , m_text(new QLabel(m_working))
{
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(kExactRole);
    m_sorted->setFilterKeyColumn(ClaimsModel::Verdict);
    m_table->setModel(m_sorted);
    prepareTable(*m_table);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    constexpr int kWidths[ClaimsModel::ColumnCount] = {110, 420, 120, 120, 120, 150};
    for (int column = 0; column < ClaimsModel::ColumnCount; ++column) m_table->setColumnWidth(column, kWidths[column]);
    m_table->horizontalHeader()->setSectionResizeMode(ClaimsModel::Statement, QHeaderView::Stretch);
    m_table->sortByColumn(-1, Qt::AscendingOrder); // the order of the subject matter
    m_card->addControl(m_filter);
    m_card->addContent(m_table, 1);
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_text->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_text->setMinimumHeight(76);
    m_working->addContent(m_text, 1);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kGap, kGap, kGap, kGap);
    column->setSpacing(kGap);
    column->addWidget(m_card, 1);
    column->addWidget(m_working);

    connect(m_filter, &QComboBox::activated, this, [this](int index) {
        const QString words = index > 0 ? ClaimsModel::words(static_cast<claims::Verdict>(index - 1)) : QString();
        m_sorted->setFilterFixedString(words);
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &ClaimsPage::showWorking);
    retranslate();
}

void ClaimsPage::setClaims(std::vector<claims::Claim> claims, QHash<QString, double> recorded)
{
    m_model->setClaims(std::move(claims), std::move(recorded));
    m_ready = true;
    m_table->selectRow(0);
    describe();
    showWorking();
}

void ClaimsPage::setWords(ClaimWords words)
{
    m_model->setWords(std::move(words));
    showWorking();
}

void ClaimsPage::setProblem(const QString& text)
{
    m_ready = true;
    m_card->finding().setTone(ElidedText::Tone::Alarm);
    m_card->finding().setText(text);
}

void ClaimsPage::describe()
{
    int counts[3] = {};
    for (int row = 0; row < m_model->rowCount(); ++row) ++counts[static_cast<int>(m_model->claim(row).verdict)];
    m_card->finding().setText(m_ready ? tr("%1 claims: %2 reproduced, %3 differ, %4 cannot be checked")
                                            .arg(m_model->rowCount())
                                            .arg(counts[0])
                                            .arg(counts[1])
                                            .arg(counts[2])
                                      : tr("computing…"));
}

void ClaimsPage::showWorking()
{
    const QModelIndex current = m_sorted->mapToSource(m_table->currentIndex());
    if (!current.isValid()) {
        m_text->setText(tr("Select a claim to see how it was computed."));
        m_working->finding().setText({});
        return;
    }
    const claims::Claim& claim = m_model->claim(current.row());
    const ClaimWords& texts = m_model->texts();
    QString text = texts.because(claim);
    if (!claim.working.empty()) text += QStringLiteral("\n\n") + texts.working(claim);
    m_text->setText(text);
    m_working->finding().setText(QString::fromStdString(claim.id));
}

QString ClaimsPage::tableAsCsv() const
{
    return csvOf(*m_sorted);
}

void ClaimsPage::select(const QString& id)
{
    for (int row = 0; row < m_model->rowCount(); ++row) {
        if (QString::fromStdString(m_model->claim(row).id) != id) continue;
        const QModelIndex index = m_sorted->mapFromSource(m_model->index(row, 0));
        m_table->selectRow(index.row());
        m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
    }
}

void ClaimsPage::retranslate()
{
    m_card->title().setText(tr("Check the claims"));
    m_working->title().setText(tr("Why, and how it was computed"));
    m_table->setAccessibleName(tr("Published claims"));
    m_filter->setAccessibleName(tr("Verdict"));
    const int shown = std::max(0, m_filter->currentIndex());
    m_filter->clear();
    m_filter->addItem(tr("all verdicts"));
    for (int verdict = 0; verdict < 3; ++verdict)
        m_filter->addItem(ClaimsModel::words(static_cast<claims::Verdict>(verdict)));
    m_filter->setCurrentIndex(shown);
    m_sorted->setFilterFixedString(shown > 0 ? ClaimsModel::words(static_cast<claims::Verdict>(shown - 1)) : QString());
    m_model->retranslate();
    describe();
    showWorking();
}

void ClaimsPage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

} // namespace fourwalls::views
