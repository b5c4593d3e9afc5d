// A customer's app with React Router; two routes redirect.
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter, Link, Navigate, Route, Routes } from 'react-router'

const page = (path, element) => createElement(Route, { path, element, key: path })
const redirect = (path, to) => page(path, createElement(Navigate, { to, replace: true }))
const link = (to) => createElement(Link, { to, key: to }, to)

const links = ['/start', '/old', '/first'].map(link)
const routes = [
  page('/start', 'Start'),
  page('/new', 'New'),
  redirect('/old', '/new'),
  redirect('/first', '/second'),
  redirect('/second', '/third'),
  page('/third', 'Third'),
]

createRoot(document.querySelector('#root')).render(
  createElement(BrowserRouter, null, links, createElement(Routes, null, routes)),
)
