"""Buying, selling and working: orders, invoices, products, jobs, repairs."""

from cllm_core.tasks.notes import words
from cllm_core.tasks.notes.kinds import Kind, facet, lead
from cllm_core.tasks.notes.values import (
    both,
    city,
    closed,
    code,
    count,
    day,
    email,
    measure,
    money,
    one_of,
    person,
    states,
)

ORDER = Kind(
    "order",
    lead(
        "customer",
        person,
        "{0} placed an order|New order from {0}|{0} ordered something by phone|Took an order from {0}"
        "|{0} wants to buy from us|Sale to {0}|An order came in from {0}|{0} is buying again",
    ),
    (
        facet(
            "order",
            code("@-#####"),
            "order {0}|order no. {0}|number {0}|ref {0}|under order number {0}",
            "The order number is {0}.|Order: {0}.|It is order {0}.|Filed as order {0}.",
        ),
        facet(
            "item quantity",
            both(one_of(words.GOODS), count(1, 12)),
            "{1} x {0}|{0}, quantity {1}|item: {0} ({1} pcs)|{0} x {1}|{1} pieces of {0}",
            "The item is {0}, {1} of them.|Ordered: {1} x {0}.|It's for {0}, quantity {1}.|They need {1} times {0}.",
        ),
        facet(
            "total currency",
            money(8, 900),
            "total {0}|for {0}|{0} in total|sum {0}|worth {0}",
            "The total is {0}.|That makes {0}.|Total: {0}.|All in all {0}.",
        ),
        facet(
            "date",
            day(),
            "on {0}|dated {0}|ordered {0}|placed on {0}|order date {0}",
            "It was placed on {0}.|Order date: {0}.|That was on {0}.|The date of the order is {0}.",
        ),
        facet(
            "paid",
            states(
                {
                    True: ("already paid", "paid in full", "payment received", "the money has arrived"),
                    False: ("not paid yet", "still unpaid", "payment open", "we wait for the money"),
                }
            ),
            "{0}|{0} as of now|status: {0}|so far {0}",
            "Status: {0}.|As for payment, {0}.|Payment: {0}.|On the money side, {0}.",
        ),
        facet(
            "colour",
            closed(words.COLOURS),
            "in {0}|colour {0}|{0} version|in the colour {0}|coloured {0}",
            "The colour should be {0}.|Colour: {0}.|They want it in {0}.|Please pick {0}.",
        ),
        facet(
            "email",
            email,
            "email {0}|contact {0}|mail to {0}|reachable at {0}|confirm to {0}",
            "The email is {0}.|Contact: {0}.|Send the receipt to {0}.|Write to {0}.",
        ),
    ),
)

INVOICE = Kind(
    "invoice",
    lead(
        "supplier",
        one_of(words.COMPANIES),
        "Invoice from {0} received|{0} sent us a bill|Got the bill from {0}|Bill by {0} is on my desk"
        "|Please pay {0}|{0} invoiced us|There is an invoice by {0}|We owe {0} money",
    ),
    (
        facet(
            "invoice",
            code("INV-####"),
            "invoice {0}|no. {0}|number {0}|reference {0}|invoice no. {0}",
            "The invoice number is {0}.|Invoice: {0}.|Quote {0} when paying.|Its number is {0}.",
        ),
        facet(
            "amount currency",
            money(40, 9000),
            "over {0}|for {0}|amount {0}|{0} due|a sum of {0}",
            "The amount is {0}.|It comes to {0}.|Amount: {0}.|They charge {0}.",
        ),
        facet(
            "issued",
            day(),
            "issued {0}|dated {0}|of {0}|issued on {0}|written on {0}",
            "It was issued on {0}.|Invoice date: {0}.|It is dated {0}.|They wrote it on {0}.",
        ),
        facet(
            "due",
            day(),
            "due {0}|payable by {0}|due on {0}|to be paid by {0}|deadline {0}",
            "Payment is due on {0}.|Pay by {0}.|Due date: {0}.|The deadline is {0}.",
        ),
        facet(
            "vat_percent",
            measure(5, 27, ("{} %", "{}%", "{} percent"), digits=0),
            "VAT {0}|including {0} VAT|with {0} VAT|plus {0} VAT|at a VAT rate of {0}",
            "VAT is {0}.|It includes {0} VAT.|VAT rate: {0}.|They add {0} VAT.",
        ),
        facet(
            "approved_by",
            person,
            "approved by {0}|signed off by {0}|approval: {0}|cleared by {0}|okayed by {0}",
            "{0} approved it.|Approved by {0}.|It was signed off by {0}.|{0} gave the okay.",
        ),
        facet(
            "service",
            one_of(words.TOPICS),
            "for the {0}|covering the {0}|for work on the {0}|about the {0}|regarding the {0}",
            "It is for the {0}.|Service: {0}.|It covers the {0}.|They bill us for the {0}.",
        ),
    ),
)

PRODUCT = Kind(
    "product",
    lead(
        "product",
        one_of(words.GOODS),
        "Stock check on the {0}|Please add the {0} to the shop|Catalogue entry for the {0}|Counted the {0}"
        "|We now sell the {0}|Update for the {0}|Please list the {0}|The {0} needs a page",
    ),
    (
        facet(
            "sku",
            code("@@@-###"),
            "SKU {0}|article {0}|item number {0}|code {0}|listed under {0}",
            "The SKU is {0}.|Article number: {0}.|It has the code {0}.|Look for {0}.",
        ),
        facet(
            "brand",
            one_of(words.COMPANIES),
            "by {0}|brand {0}|made by {0}|from {0}|a product of {0}",
            "The brand is {0}.|It's made by {0}.|Maker: {0}.|We buy it from {0}.",
        ),
        facet(
            "price currency",
            money(4, 320),
            "at {0}|price {0}|selling for {0}|{0} each|priced at {0}",
            "It sells for {0}.|The price is {0}.|Price: {0}.|One costs {0}.",
        ),
        facet(
            "stock",
            count(40, 2400),
            "{0} in stock|stock {0}|{0} left|{0} units on the shelf|{0} units",
            "There are {0} in stock.|We have {0} left.|Stock: {0}.|I counted {0}.",
        ),
        facet(
            "colour",
            closed(words.COLOURS),
            "in {0}|colour {0}|{0}|the {0} one|only {0}",
            "The colour is {0}.|It comes in {0}.|Colour: {0}.|We only have {0}.",
        ),
        facet(
            "weight_kg",
            measure(0.2, 19, ("{} kg", "{} kilos", "{}kg")),
            "{0}|weighing {0}|weight {0}|at a weight of {0}|which is {0}",
            "It weighs {0}.|Weight: {0}.|The weight is {0}.|A single one is {0}.",
        ),
        facet(
            "discontinued",
            states(
                {
                    True: ("discontinued", "no longer made", "phased out", "gone from the catalogue soon"),
                    False: ("still in production", "not discontinued", "here to stay", "still being made"),
                }
            ),
            "{0}|{0} now|officially {0}|as far as I know {0}",
            "It is {0}.|The maker says it's {0}.|Status: {0}.|By the way, it's {0}.",
        ),
    ),
)

JOB = Kind(
    "job",
    lead(
        "position company",
        both(one_of(words.JOBS), one_of(words.COMPANIES)),
        "{1} is looking for a new {0}|Opening for the post of {0} at {1}|{1} hires one more {0}"
        "|New vacancy at {1}: {0}|Job ad: {0} at {1}|{1} has a job for a good {0}|{1} wants another {0}"
        "|They need somebody as {0} at {1}",
        "{0} at {1}",
    ),
    (
        facet(
            "city",
            city,
            "in {0}|based in {0}|location {0}|office in {0}|working out of {0}",
            "The job is in {0}.|Location: {0}.|You would work in {0}.|The office is in {0}.",
        ),
        facet(
            "salary currency",
            money(1400, 9800, cents=False),
            "paying {0} a month|salary {0}|{0} monthly|for {0} a month|with {0} per month",
            "The salary is {0}.|They pay {0} a month.|Monthly pay: {0}.|It pays {0}.",
        ),
        facet(
            "start",
            day(2022, 2030),
            "starting {0}|from {0}|start {0}|beginning on {0}|first day {0}",
            "It starts on {0}.|Start date: {0}.|They want someone from {0}.|The first day is {0}.",
        ),
        facet(
            "hours",
            count(12, 30),
            "{0} hours a week|{0} hours|for {0} hours a week|at {0} hours weekly|with {0} hours each week",
            "It's {0} hours a week.|Weekly hours: {0}.|You work {0} hours a week.|The contract is for {0} hours.",
        ),
        facet(
            "remote",
            states(
                {
                    True: ("remote", "from home", "fully remote", "working from anywhere"),
                    False: ("on site", "not remote", "in the office", "no work from home"),
                }
            ),
            "{0}|{0} only|done {0}|it's {0}",
            "The work is {0}.|Place of work: {0}.|It is {0}.|They want it {0}.",
        ),
        facet(
            "contact",
            email,
            "contact {0}|write to {0}|apply to {0}|mail {0}|applications to {0}",
            "Apply at {0}.|Contact: {0}.|Send your papers to {0}.|Questions go to {0}.",
        ),
    ),
)

REPAIR = Kind(
    "repair",
    lead(
        "device",
        one_of(words.DEVICES),
        "Took the {0} in for repair|The {0} is broken|Repair job on a {0}|A {0} came into the workshop"
        "|Fixing a {0} this week|Somebody left a {0} with us|We are mending a {0}|The {0} gave up",
    ),
    (
        facet(
            "fault",
            one_of(words.FAULTS),
            "fault: {0}|with a {0}|because of a {0}|due to a {0}",
            "The fault is a {0}.|It has a {0}.|Problem: {0}.|We found a {0}.",
        ),
        facet(
            "owner",
            person,
            "for {0}|owner {0}|brought by {0}|belonging to {0}",
            "The owner is {0}.|It belongs to {0}.|{0} brought it.|Customer: {0}.",
        ),
        facet(
            "cost currency",
            money(15, 420),
            "for {0}|cost {0}|estimated at {0}|about to cost {0}",
            "It will cost {0}.|The repair costs {0}.|Cost: {0}.|We quoted {0}.",
        ),
        facet(
            "ready",
            day(2022, 2030),
            "ready on {0}|ready {0}|done by {0}|to be collected on {0}",
            "It is ready on {0}.|Pick it up on {0}.|Ready: {0}.|We finish it by {0}.",
        ),
        facet(
            "ticket",
            code("R####"),
            "ticket {0}|job {0}|repair number {0}|slip {0}",
            "The ticket is {0}.|Ticket number: {0}.|Ask for {0}.|It is filed as {0}.",
        ),
        facet(
            "warranty",
            states(
                {
                    True: ("under warranty", "covered by the warranty", "warranty applies", "still in warranty"),
                    False: ("no warranty", "out of warranty", "not covered by the warranty", "warranty has run out"),
                }
            ),
            "{0}|{0} sadly or not|it's {0}|{0} as checked",
            "It is {0}.|I checked: {0}.|Papers say {0}.|Note: {0}.",
        ),
    ),
)

KINDS = (ORDER, INVOICE, PRODUCT, JOB)
UNSEEN = (REPAIR,)
